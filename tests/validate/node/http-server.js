// SPDX-License-Identifier: GPL-2.0-or-later
// http-server.js ADDRESS PORT: /page is answered at once; /slow/N is answered by a handler that
// keeps the event loop busy for N microseconds, all others waiting; /garbage/N makes N objects and
// drops those made before: the collector stops the others
'use strict';
const http = require('http');
const page = Buffer.alloc(1024, 'x');
let kept = [];
const server = http.createServer((request, response) => {
  const slow = /^\/slow\/([0-9]+)$/.exec(request.url);
  if (slow) {
    const end = process.hrtime.bigint() + BigInt(slow[1]) * 1000n;
    while (process.hrtime.bigint() < end);
  }
  const garbage = /^\/garbage\/([0-9]+)$/.exec(request.url);
  if (garbage) {
    kept = [];
    for (let i = 0; i < Number(garbage[1]); i++) kept.push({ i, text: 'object ' + i });
  }
  response.writeHead(200, { 'Content-Length': page.length });
  response.end(page);
});
server.keepAliveTimeout = 0;
server.maxRequestsPerSocket = 0;
server.listen(Number(process.argv[3]), process.argv[2], 4096);
