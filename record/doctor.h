/* SPDX-License-Identifier: GPL-2.0-or-later */
/* obsrec doctor: what this host can record, what it cannot, why, and the remedy. */
#ifndef OBS_DOCTOR_H
#define OBS_DOCTOR_H

/* The command line behind "doctor"; returns the exit status: 0, or 2 if recording is impossible. */
int doctor_main(int argc, char **argv);

#endif
