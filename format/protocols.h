/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocols whose requests have names: protocols.def. */
#pragma once

enum protocol {
#define PROTOCOL(number, name, readable) PROTOCOL_##name = (number),
#include "protocols.def"
#undef PROTOCOL
};
