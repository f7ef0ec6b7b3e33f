// SPDX-License-Identifier: GPL-2.0-or-later
// deep.js SECONDS: for so long on a CPU, three functions that call each other, for callers.py
'use strict';
function inner(end) {
  let total = 0;
  while (process.cpuUsage().user < end)
    for (let i = 0; i < 100000; i++)
      total += i * i % 7;
  return total;
}
function middle(end) {
  return inner(end) + 1;
}
function outer(end) {
  return middle(end) + 1;
}
outer(Number(process.argv[2]) * 1000000);
