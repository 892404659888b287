// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "journal.h"

struct config config = {
	.hooks = "/etc/kvpool/hook.d",
	.state = "/var/lib/kvpool-monitor",
	.journal = JOURNAL_SOCKET,
	.kvpoolctl = "kvpoolctl",
	.sendmail = "/usr/sbin/sendmail",
};

static const struct option options[] = {
	{ "hooks", required_argument, NULL, 'k' },
	{ "mail", required_argument, NULL, 'm' },
	{ "state", required_argument, NULL, 's' },
	{ "journal", required_argument, NULL, 'j' },
	{ "kvpoolctl", required_argument, NULL, 'c' },
	{ "sendmail", required_argument, NULL, 'S' },
	{ "no-return", no_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static void help(void)
{
	printf("Usage: kvpool-monitor [OPTION]...\n"
	       "\n"
	       "Watches all running pools. Writes their events to the journal, tells people about\n"
	       "those that are alarms, and brings legs online whose devices are back.\n"
	       "\n"
	       "  --mail ADDRESS     mail alarms there\n"
	       "  --hooks FOLDER     run the programs in FOLDER for each alarm;\n"
	       "                     default: %s\n"
	       "  --no-return        bring no leg online\n"
	       "  --state FOLDER     keep the place in each pool's events there;\n"
	       "                     default: %s\n"
	       "  --journal SOCKET   default: %s\n"
	       "  --kvpoolctl PROGRAM, --sendmail PROGRAM\n"
	       "                     run these; default: %s, %s\n"
	       "  --help, --version\n",
	       config.hooks, config.state, config.journal, config.kvpoolctl, config.sendmail);
}

static void take(int c, const char *value)
{
	switch (c) {
	case 'k': config.hooks = value; break;
	case 'm': config.mail = value; break;
	case 's': config.state = value; break;
	case 'j': config.journal = value; break;
	case 'c': config.kvpoolctl = value; break;
	case 'S': config.sendmail = value; break;
	case 'n': config.no_return = true; break;
	case 'h': help(); exit(0);
	case 'V': printf("kvpool-monitor %s\n", KVPOOL_VERSION); exit(0);
	default: exit(2);
	}
}

void config_parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "hV", options, NULL)) != -1)
		take(c, optarg);
	if (optind < argc) {
		fprintf(stderr, "kvpool-monitor: it takes no '%s'; see --help\n", argv[optind]);
		exit(2);
	}
}
