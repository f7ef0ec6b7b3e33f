// SPDX-License-Identifier: GPL-2.0-or-later
// gRPC methods of the tests, described by hand: a message is its bytes.
'use strict';
const bytes = (m) => m;
const method = (path) => ({
  path, requestStream: false, responseStream: false,
  requestSerialize: bytes, requestDeserialize: bytes,
  responseSerialize: bytes, responseDeserialize: bytes,
});
exports.definition = {
  echo: method('/validate.Echo/Echo'), refuse: method('/validate.Echo/Refuse'), find: method('/validate.Echo/Find'),
};
