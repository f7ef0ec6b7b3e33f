// SPDX-License-Identifier: GPL-2.0-or-later
// asking.js h2|grpc ADDRESS PORT ROUNDS SEED: known requests of 20 B to 20 kB, eight at a time on each of four
// connections; prints what asking.py prints
'use strict';
const [, , protocol, address, port, roundsText, seedText] = process.argv;
let state = (Number(seedText) * 2654435761 + 1) >>> 0; // mulberry32
function random() {
  state = (state + 0x6D2B79F5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const size = () => Math.floor(20 * Math.pow(1000, random()));
const names = {}, errors = {}, failed = {};
const count = (map, key) => { map[key] = (map[key] || 0) + 1; };
const fails = (name, code) => { count(errors, String(code)); count(failed, `${name} ${code}`); };
function h2() {
  const session = require('http2').connect(`http://${address}:${port}`);
  return () => new Promise((done, bad) => {
    const kinds = [['POST', `/order/${Math.floor(1e6 * random())}?token=secret`, 'POST /order/:id'],
      ['GET', '/list', 'GET /list'], ['GET', '/fail', 'GET /fail'],
      ['GET', '/busy', 'GET /busy']];
    const [method, path, name] = kinds[Math.floor(4 * random())];
    const request = session.request({ ':method': method, ':path': path }, { endStream: method === 'GET' });
    count(names, name);
    request.on('response', (h) => { if (h[':status'] >= 400) fails(name, h[':status']); });
    request.on('error', bad);
    request.on('data', () => {});
    request.on('end', done);
    if (method !== 'GET') request.end(Buffer.alloc(size(), 'x'));
  });
}
function grpc() {
  const g = require('@grpc/grpc-js');
  const definition = require('./service.js').definition;
  const Client = g.makeGenericClientConstructor(definition, 'Echo');
  const client = new Client(`${address}:${port}`, g.credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  return () => new Promise((done, bad) => {
    const which = ['echo', 'refuse', 'find'][Math.floor(3 * random())];
    const name = `POST ${definition[which].path}`;
    count(names, name);
    client[which](Buffer.alloc(size(), 'x'), (e) => {
      if (e && which === 'echo') return bad(e);
      if (e) fails(name, e.code);
      done();
    });
  });
}
let left = Number(roundsText);
async function worker(ask) {
  while (left-- > 0) await ask();
}
const workers = [];
for (let i = 0; i < 4; i++) {
  const ask = protocol === 'h2' ? h2() : grpc();
  for (let k = 0; k < 8; k++) workers.push(worker(ask));
}
Promise.all(workers).then(() => {
  console.log(JSON.stringify({ names, errors, failed }));
  process.exit(0);
});
