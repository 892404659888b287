// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "journal.h"
#include "takes.h"

struct config config = {
	.hooks = "/etc/kvpool/hook.d",
	.state = "/var/lib/kvpool-monitor",
	.journal = JOURNAL_SOCKET,
	.kvpoolctl = "kvpoolctl",
	.sendmail = "/usr/sbin/sendmail",
	.spare_after = TAKE_GRACE,
};

static const struct option options[] = {
	{ "hooks", required_argument, NULL, 'k' },
	{ "mail", required_argument, NULL, 'm' },
	{ "state", required_argument, NULL, 's' },
	{ "journal", required_argument, NULL, 'j' },
	{ "kvpoolctl", required_argument, NULL, 'c' },
	{ "sendmail", required_argument, NULL, 'S' },
	{ "no-return", no_argument, NULL, 'n' },
	{ "spare-after", required_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static void help(void)
{
	printf("Usage: kvpool-monitor [OPTION]...\n"
	       "\n"
	       "Watches all running pools. Writes their events to the journal, tells people about\n"
	       "those that are alarms, and brings legs online whose devices are back. Orders a\n"
	       "spare in the place of a leg that stays away. Ends the replacement of a\n"
	       "leg that is in use.\n"
	       "\n"
	       "  --mail ADDRESS     mail alarms there\n"
	       "  --hooks FOLDER     run the programs in FOLDER for each alarm;\n"
	       "                     default: %s\n"
	       "  --no-return        bring no leg online\n"
	       "  --spare-after SECONDS\n"
	       "                     how long a lost leg may stay away until a spare is taken;\n"
	       "                     0: for ever; default: %d\n"
	       "  --state FOLDER     keep the place in each pool's events there;\n"
	       "                     default: %s\n"
	       "  --journal SOCKET   default: %s\n"
	       "  --kvpoolctl PROGRAM, --sendmail PROGRAM\n"
	       "                     run these; default: %s, %s\n"
	       "  --help, --version\n",
	       config.hooks, TAKE_GRACE, config.state, config.journal, config.kvpoolctl,
	       config.sendmail);
}

static unsigned int seconds_of(const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*value >= '0' && *value <= '9' && !*end && n <= 7 * 24 * 3600)
		return (unsigned int)n;
	fprintf(stderr, "kvpool-monitor: --spare-after takes 0 to %d seconds, not '%s'\n",
		7 * 24 * 3600, value);
	exit(2);
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
	case 'a': config.spare_after = seconds_of(value); break;
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
