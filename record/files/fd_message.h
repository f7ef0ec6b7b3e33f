/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between processes that carry file descriptors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define FD_MESSAGE_MAX 2
#define NO_DESCRIPTOR  (-1)

/* One message, with the descriptors that are not NO_DESCRIPTOR. */
bool fd_message_send(int sock, void *data, size_t size, const int fds[FD_MESSAGE_MAX]);

/* Flags of recvmsg(): with MSG_PEEK the message stays. */
bool fd_message_receive(int sock, void *data, size_t size, int fds[FD_MESSAGE_MAX], int flags);

void fd_message_close(const int fds[FD_MESSAGE_MAX]);

/*
 * A file in a message that has not been received. The kernel closes it there without a word to its
 * server, for whose answer each close() waits. Returns what has the message, or NO_DESCRIPTOR.
 */
int fd_message_park(int fd);

/* The parked file, for who may be stuck with it; it stays parked. */
int fd_message_unpark(int parked);
