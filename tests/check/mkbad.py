# SPDX-License-Identifier: GPL-2.0-or-later
"""mkbad.py WHAT GOOD: a damaged copy of a recording, headers sealed again, on standard output.

A second reader of the format, written from obsrec(5) alone."""
import struct
import sys

FRAME, BODY = 104, 96


def checksum(body):
    h = 0xcbf29ce484222325
    for byte in body:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def seal(data, at):
    body = data[at + 8:at + 8 + BODY - 8]
    struct.pack_into('<Q', data, at + BODY, checksum(body))


def blocks(data):
    """Offsets of the block headers."""
    at = FRAME
    while data[at + 8:at + 12] == b'OBSB':
        yield at
        at += FRAME + struct.unpack_from('<I', data, at + 8 + 28)[0]


what = sys.argv[1]
data = bytearray(open(sys.argv[2], 'rb').read())
second = [b for b in blocks(data) if struct.unpack_from('<H', data, b + 12)[0] == 2][1]
if what == 'major':
    struct.pack_into('<H', data, 16, 9)
    seal(data, 0)
elif what == 'feature':
    struct.pack_into('<I', data, 24, 0x40)
    seal(data, 0)
elif what == 'data':
    data[second + FRAME + 20] ^= 0xff
elif what == 'header':
    data[second + 30] ^= 0xff
    data = data[:-FRAME]  # without its end, the reader must walk over the damage
elif what == 'time':
    struct.pack_into('<Q', data, second + 8 + 40, 2**60 + 1)
    seal(data, second)
    data = data[:-FRAME]
elif what == 'content':
    struct.pack_into('<I', data, second + 8 + 24, 17)
    seal(data, second)
    data = data[:-FRAME]
elif what == 'absurd':
    struct.pack_into('<I', data, second + 8 + 20, 0xfffffff0)
    seal(data, second)
    data = data[:-FRAME]
sys.stdout.buffer.write(data)
