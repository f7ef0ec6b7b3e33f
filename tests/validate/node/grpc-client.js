// SPDX-License-Identifier: GPL-2.0-or-later
// grpc-client.js ADDRESS PORT RATE SECONDS SEED CHANNELS [CALLS]: exponential arrivals at RATE, at most
// CALLS under way on each channel, which is a connection (none: as many as come; 16 if RATE is 0: a closed
// loop); prints what loadgen.c prints
'use strict';
const grpc = require('@grpc/grpc-js');
const [, , address, port, rateText, secondsText, seedText, channelsText, callsText] = process.argv;
const rate = Number(rateText), ns = Number(secondsText) * 1e9, channels = Number(channelsText);
const calls = Number(callsText || 0), LIMIT = calls ? calls * channels : 2000; // under way
const Client = grpc.makeGenericClientConstructor(require('./service.js').definition, 'Echo');
const clients = [];
for (let i = 0; i < channels; i++)
  clients.push(new Client(`${address}:${port}`, grpc.credentials.createInsecure(),
    { 'grpc.use_local_subchannel_pool': 1 }));
const now = () => Number(process.hrtime.bigint());
let state = (Number(seedText) * 2654435761 + 1) >>> 0; // mulberry32
function random() {
  state = (state + 0x6D2B79F5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const message = Buffer.alloc(100, 'x');
const dueTimes = [], sentTimes = [];
let errors = 0, under = 0, first = 0, last = 0, begin = 0, request = 0, counted = 0, ended = false;
const free = []; // channels, as often as each may take a call
for (let i = 0; i < calls * channels; i++) free.push(i % channels);
const waiting = [];
let waitingAt = 0;
function ask(due) {
  const sent = now();
  if (!first) first = sent;
  under++;
  const channel = calls ? free.pop() : request++ % channels;
  clients[channel].echo(message, (e) => {
    under--;
    if (calls) free.push(channel);
    if (ended) return;
    last = now();
    if (e) errors++;
    if (last >= begin + ns / 10 && last < begin + 9 * ns / 10) counted++;
    dueTimes.push(last - due);
    sentTimes.push(last - sent);
    if (waitingAt < waiting.length) ask(waiting[waitingAt++]);
    else if (rate === 0 && last < begin + ns) ask(last);
  });
}
function quantiles(values) {
  values.sort((a, b) => a - b);
  const at = (q) => values.length ? values[Math.floor(q * (values.length - 1))] : 0;
  return { mean: values.reduce((a, b) => a + b, 0) / (values.length || 1),
    p50: at(.5), p90: at(.9), p99: at(.99), p999: at(.999) };
}
function finish() {
  ended = true;
  const seconds = (last - first) / 1e9, requests = dueTimes.length;
  const epoch = (performance.timeOrigin + performance.now()) * 1e6 - now();
  console.log(JSON.stringify({ offered: rate, requests, errors, broken: 0,
    unasked: waiting.length - waitingAt, unanswered: under, seconds, rate: seconds > 0 ? requests / seconds : 0,
    counted: { from: Math.round(epoch + begin + ns / 10), to: Math.round(epoch + begin + 9 * ns / 10),
      rate: counted / (.8 * ns / 1e9) },
    from_due: quantiles(dueTimes), from_sent: quantiles(sentTimes) }));
  process.exit(0);
}
let next;
function tick() {
  const t = now();
  if (t >= begin + ns) return finish();
  for (; next <= t; next -= Math.log(1 - random()) * 1e9 / rate)
    if (under < LIMIT) ask(next);
    else waiting.push(next);
  // the timer's grain is 1 ms: below that, requests of the event loop
  if (next - t > 2e6) setTimeout(tick, 1);
  else setImmediate(tick);
}
Promise.all(clients.map((c) => new Promise((ok, bad) =>
  c.waitForReady(Date.now() + 10000, (e) => e ? bad(e) : ok())))).then(() => {
  begin = next = now();
  if (rate > 0) return tick();
  for (let i = 0; i < (calls || 16) * channels; i++) ask(now());
  setTimeout(finish, ns / 1e6);
});
