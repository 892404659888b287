/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of the monitor. */
#ifndef KVPOOL_MONITOR_CONFIG_H
#define KVPOOL_MONITOR_CONFIG_H

#include <stdbool.h>

struct config {
	const char *hooks;	/* folder of programs to run for an alarm */
	const char *mail;	/* address, NULL: none */
	const char *state;	/* folder for the place in each pool's events */
	const char *journal;	/* socket */
	const char *kvpoolctl, *sendmail;	/* programs */
	bool no_return;		/* bring no leg back */
	/* seconds until a spare takes the place of a leg; 0: never */
	unsigned int spare_after;
};

extern struct config config;

/** config_parse() - from the command line; ends the program for --help and wrong usage */
void config_parse(int argc, char **argv);

#endif
