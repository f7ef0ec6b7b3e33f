// SPDX-License-Identifier: GPL-2.0-or-later
// grpc-server.js ADDRESS PORT: answers with what it was sent; Refuse always with an error, Find if that has an odd length
'use strict';
const grpc = require('@grpc/grpc-js');
const server = new grpc.Server({ 'grpc.max_concurrent_streams': 10000 });
server.addService(require('./service.js').definition, {
  echo: (call, done) => done(null, call.request),
  refuse: (call, done) => done({ code: 3 + call.request.length % 8, details: 'refused' }),
  find: (call, done) => call.request.length % 2 ? done({ code: 5, details: 'nothing' }) : done(null, call.request),
});
server.bindAsync(`${process.argv[2]}:${process.argv[3]}`, grpc.ServerCredentials.createInsecure(), (e) => {
  if (e) throw e;
});
