// SPDX-License-Identifier: GPL-2.0-or-later
// The one gRPC method of the tests, described by hand: a message is its bytes.
'use strict';
const bytes = (m) => m;
exports.definition = {
  echo: {
    path: '/validate.Echo/Echo', requestStream: false, responseStream: false,
    requestSerialize: bytes, requestDeserialize: bytes,
    responseSerialize: bytes, responseDeserialize: bytes,
  },
};
