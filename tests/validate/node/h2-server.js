// SPDX-License-Identifier: GPL-2.0-or-later
// h2-server.js ADDRESS PORT: HTTP/2; /fail is answered with status 500, /busy with 503, others with as many bytes as they sent
'use strict';
const statuses = { '/fail': 500, '/busy': 503 };
const server = require('http2').createServer();
server.on('stream', (stream, headers) => {
  let n = 0;
  stream.on('data', (d) => { n += d.length; });
  stream.on('end', () => {
    stream.respond({ ':status': statuses[headers[':path']] || 200 });
    stream.end(Buffer.alloc(n, 'x'));
  });
});
server.listen(Number(process.argv[3]), process.argv[2]);
