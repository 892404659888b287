/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is advice carried out? For answers.c: `answers advised [-v]`.
 *
 * The pool of answers.c, sound but for some faults at once, is asked for the advice that status
 * prints, and is given orders that it refuses. Every command that such a text names is then run on
 * the same pool, dry where it can be: it must not be refused. What comes before it in the same text
 * counts as done: an export and an import, or an offline. NEW and DEV are devices that are not
 * there, so a command that ends at one was not refused.
 *
 * The last line counts.
 */
#include <setjmp.h>
#include <time.h>

#include "advice.h"
#include "pool_object.h"

extern const struct command cmd_create, cmd_import, cmd_inspect, cmd_labelclear;

static const struct command *const known[] = {
	&cmd_add, &cmd_attach, &cmd_cancel, &cmd_clear, &cmd_create, &cmd_detach, &cmd_events,
	&cmd_export, &cmd_get, &cmd_grow, &cmd_import, &cmd_inspect, &cmd_labelclear, &cmd_offline,
	&cmd_online, &cmd_remove, &cmd_replace, &cmd_scrub, &cmd_set, &cmd_status, &cmd_wait,
	&cmd_whois,
};

#define FAULTS_LEN	1024

static unsigned int passed, failed;
static bool verbose;
static FILE *errors;

/* A command that waits was not refused. */
static jmp_buf waits;
static bool may_wait;
static pid_t walker;	/* the commands have processes of their own, which may wait */

int nanosleep(const struct timespec *t, struct timespec *left)
{
	if (may_wait && getpid() == walker)
		longjmp(waits, 1);
	return clock_nanosleep(CLOCK_MONOTONIC, 0, t, left) ? -1 : 0;
}

int usleep(useconds_t us)
{
	struct timespec t = { .tv_nsec = us * 1000 };

	return nanosleep(&t, NULL);
}

/* --- faults ------------------------------------------------------------------------------- */

/* One of each group at a time. The legs: a mirror 0 1, a parity1 2 3 4, a cache 5 6. */
static const char *const modes[] = { "", "mode=ro\n" };

static const char *const of_mirror[] = {
	"", "leg.0.state=offline\nleg.0.by_order=1\n", "leg.0.state=faulted\n",
	"leg.0.state=stale\n",
	"leg.1.state=missing\nleg.1.path=-\n",
	"leg.1.state=missing\nleg.1.path=-\nleg.1.by_order=1\n",
	"leg.0.state=resilvering\n", "leg.0.err_read=4\n",
	"leg.0.slow=yes\nleg.0.slow_by=read\nleg.0.slow_others=1000\nleg.0.p99_read=90000000\n",
	/* leg 1 is to replace leg 0, or has */
	"leg.1.replaces=" LEG_UUID(0) "\nleg.1.state=resilvering\n",
	"leg.1.replaces=" LEG_UUID(0) "\nleg.1.state=faulted\n",
	"leg.1.replaces=" LEG_UUID(0) "\nleg.1.state=missing\nleg.1.path=-\n",
	"leg.1.replaces=" LEG_UUID(0) "\nleg.1.state=offline\nleg.1.by_order=1\n",
	"leg.1.replaces=" LEG_UUID(0) "\n",
	"leg.1.replaces=" LEG_UUID(0) "\nleg.0.state=offline\nleg.0.by_order=1\n",
};

#define SHADOW_UUID	"0f0e0d0c-0b0a-0908-0706-050403020109"
#define SHADOW_IS(path, state)	"shadow.uuid=" SHADOW_UUID "\nshadow.path=" path "\nshadow.state=" \
	state "\nshadow.leg=3\nshadow.replaces=" LEG_UUID(3) "\n"
#define SHADOW(state)	SHADOW_IS("8:112", state)
#define NO_SHADOW	SHADOW_IS("-", "missing")

static const char *const of_parity1[] = {
	"", "leg.3.state=offline\nleg.3.by_order=1\n", "leg.2.state=missing\nleg.2.path=-\n",
	"leg.4.state=resilvering\n", "leg.4.err_checksum=1\n",
	/*
	 * a shadow of leg 3: in its states; while leg 3 is out or resilvers; while another is out
	 */
	SHADOW("resilvering"), SHADOW("stale"), SHADOW("online"), SHADOW("faulted"), NO_SHADOW,
	SHADOW("stale") "leg.3.state=offline\nleg.3.by_order=1\n",
	SHADOW("stale") "leg.3.state=missing\nleg.3.path=-\n",
	SHADOW("stale") "leg.3.state=resilvering\n", SHADOW("stale") "leg.3.state=stale\n",
	SHADOW("faulted") "leg.3.state=faulted\n", NO_SHADOW "leg.3.state=missing\nleg.3.path=-\n",
	NO_SHADOW "leg.3.state=resilvering\n",
	SHADOW("resilvering") "leg.4.state=faulted\n", SHADOW("online") "leg.4.state=resilvering\n",
	NO_SHADOW "leg.2.state=missing\nleg.2.path=-\n", SHADOW("resilvering") "leg.3.err_read=1\n",
};

static const char *const of_cache[] = {
	"", "leg.5.state=faulted\n", "leg.6.state=missing\nleg.6.path=-\n", "log.on=legs\n",
	"leg.5.state=faulted\nleg.6.state=faulted\nlog.on=legs\nvdev.2.state=degraded\n",
	"leg.5.state=missing\nleg.5.path=-\nleg.6.state=missing\nleg.6.path=-\nlog.on=legs\n"
		"vdev.2.state=degraded\n",
	"leg.6.err_write=2\n", "cache.mode=writethrough\nlog.on=legs\n",
	"drain.state=running\nleg.5.state=offline\n",
	"vdev.2.legs=1\nlog.on=legs\n",
	"vdev.2.legs=1\nleg.5.state=faulted\nlog.on=legs\nvdev.2.state=degraded\n",
};

static const char *const of_blocks[] = {
	"poisoned_blocks=0\n", "", "poisoned_blocks=0\nscrub.unrepaired=4\n",
};

/* Where the devices are, in the table and in stats; a missing leg has none. */
#define PATHS	"leg.0.path=8:0\nleg.1.path=8:16\nleg.2.path=8:32\nleg.3.path=8:48\n" \
		"leg.4.path=8:64\nleg.5.path=8:80\nleg.6.path=8:96\n"

static void write_table(const char *faults)
{
	static const char *const before[] = {
		" mirror 2", "", " parity1 3", "", "", " cache 2", "",
	};
	static char buf[512];
	char missing[32];
	bool shadow = strstr(faults, "shadow.path=8:");
	size_t n = (size_t)snprintf(buf, sizeof(buf), UUID " %d host=12:h%s", 1 + shadow,
				    shadow ? " shadow=8:112" : "");
	unsigned int i;

	for (i = 0; i < 7; i++) {
		snprintf(missing, sizeof(missing), "leg.%u.path=-", i);
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%s", before[i]);
		if (strstr(faults, missing))
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, " -");
		else
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, " 8:%u", i * 16);
	}
	sound_table = buf;
}

/*
 * What the module refuses: changes of a pool that was imported read-only, and the log on one SSD,
 * as the vdevs with data survive a loss.
 */
static bool is_taken(const char *message, struct err *err)
{
	if (strstr(sound_stats, "mode=ro") && strcmp(message, "clear") &&
	    strncmp(message, "mark", 4))
		err_set(err, ERR_READ_ONLY, message, "-", "the pool is read-only");
	else if (strstr(message, " writeback") && !strstr(message, "force") &&
		 strstr(sound_stats, "vdev.2.legs=1"))
		err_set(err, ERR_REFUSED, message, "-", "with the log on one SSD");
	else if (strstr(sound_stats, "drain.state=running") && !strncmp(message, "drain start", 11))
		err_set(err, ERR_REFUSED, message, "kvpoolctl cancel POOL drain; or wait for that",
			"the cache is being drained");
	else
		return true;
	return false;
}

#define each(i, of) (i = 0; i < sizeof(of) / sizeof(*(of)); i++)

static bool is_in(const char *faults, const char *line)
{
	return strstr(faults, line);
}

/* As target/status.c says it: a leg that is replaced is not missed. */
static const char *state_of(const char *mirror, const char *parity1, const char *cache)
{
	bool whole = !*mirror || is_in(mirror, "replaces=") || is_in(mirror, "err_");

	whole &= !*parity1 || is_in(parity1, "err_") ||
		 (is_in(parity1, "shadow.") && !is_in(parity1, "\nleg."));
	return whole && !is_in(cache, ".state=") ? "online" :
	       whole && is_in(cache, "drain.state") && !is_in(cache, "leg.") ? "online" : "degraded";
}

/* --- a run of a command -------------------------------------------------------------------- */

static char output[8192];

static int run_command(const struct command *cmd, bool dry, int argc, char **argv)
{
	struct ctl ctl = { .cmd = cmd, .plain = true, .dry_run = dry && cmd->dry_run };
	FILE *out = stdout;
	volatile int status = EXIT_DONE;

	memset(output, 0, sizeof(output));
	stdout = stderr = fmemopen(output, sizeof(output) - 1, "w");
	optind = 0;
	may_wait = true;
	if (!setjmp(waits))
		status = cmd->run(&ctl, argc, argv);
	may_wait = false;
	fclose(stdout);
	stdout = out;
	stderr = errors;
	return status;
}

/* --- commands in a text -------------------------------------------------------------------- */

#define MOST_WORDS	8

struct said {
	char words[MOST_WORDS][160];
	char *argv[MOST_WORDS + 1];
	int argc;
};

/* Is @word an argument? After the last one, the sentence goes on. */
static bool is_argument(const struct said *s, const char *word)
{
	static const char *const words[] = { "p", "POOL", "OLD", "NEW", "DEV", "UUID" };
	const char *command = s->words[0], *last = s->words[s->argc - 1];
	unsigned int i;

	for each(i, words)
		if (!strcmp(word, words[i]))
			return true;
	if (*word == '-' || *word == '/' || strchr(word, '=') || !strncmp(word, "8:", 2) ||
	    !strncmp(word, UUID, 24))
		return true;
	if (!strcmp(last, "-t"))
		return true;
	if (!strcmp(command, "add"))
		return !strcmp(word, "cache") || !strcmp(word, "spare") || !strcmp(word, "DEVICE");
	return s->argc == 2 &&
	       ((!strcmp(command, "remove") && !strcmp(word, "cache")) ||
		(!strcmp(command, "cancel") &&
		 (!strcmp(word, "drain") || !strcmp(word, "replace"))));
}

static const char *the_leg;	/* that the order in work named */

/* The next command that @text names. Return: what follows it, or NULL. */
static const char *next_command(const char *text, struct said *s)
{
	char word[160];
	size_t n;
	bool ends = false;

	memset(s, 0, sizeof(*s));
	text = strstr(text, "kvpoolctl ");
	if (!text)
		return NULL;
	text += strlen("kvpoolctl ");
	while (!ends && s->argc < MOST_WORDS && *text) {
		n = strcspn(text, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		for (ends = false; *word && strchr(",;:.)'", word[strlen(word) - 1]); ends = true)
			word[strlen(word) - 1] = 0;
		if (s->argc && !is_argument(s, word))
			break;
		snprintf(s->words[s->argc], sizeof(s->words[0]), "%s",
			 !strcmp(word, "POOL") ? "p" : !strcmp(word, "OLD") ? the_leg :
			 strstr(word, "=SIZE") ? "cache_dirty_max=1G" : word);
		s->argv[s->argc] = s->words[s->argc];
		s->argc++;
		text += n + (text[n] == ' ');
	}
	return text;
}

/* --- the walk ------------------------------------------------------------------------------ */

static const struct command *find_command(const char *name)
{
	unsigned int i;

	for each(i, known)
		if (!strcmp(known[i]->name, name))
			return known[i];
	return NULL;
}

static void fault(const char *faults, const char *advice, const struct said *s, const char *why)
{
	int i;

	failed++;
	stderr = errors;
	fprintf(stderr, "--- with\n%sadvice: %s\nthe command:", faults, advice);
	for (i = 0; i < s->argc; i++)
		fprintf(stderr, " %s", s->argv[i]);
	fprintf(stderr, "\n%s\n", why);
}

static bool is_word(const struct said *s, const char *word)
{
	int i;

	for (i = 0; i < s->argc; i++)
		if (!strcmp(s->words[i], word))
			return true;
	return false;
}

/* The shadow has taken the place, or left. */
static void end_shadow(char *now)
{
	char *line = strstr(now, "shadow."), *rest = line;

	while (rest && !strncmp(rest, "shadow.", 7))
		rest += strcspn(rest, "\n") + 1;
	if (line)
		memmove(line, rest, strlen(rest) + 1);
	write_table(now);
}

/* Is the next command of the text @after one for the time behind this one, and not instead? */
static bool goes_on(const char *after)
{
	const char *next = strstr(after, "kvpoolctl "), *then = strstr(after, "then ");

	return next && then && then < next;
}

/* What a command that was carried out changes for the next ones, @after it in the text. */
static void change(const struct said *s, const char *after, char *now, size_t size)
{
	char before[FAULTS_LEN];
	const char *mode;

	snprintf(before, sizeof(before), "%.*s", FAULTS_LEN - 1, now);
	mode = strstr(before, "mode=ro\n");
	if (!strcmp(s->words[0], "import") && mode == before)
		snprintf(now, size, "%s", before + strlen("mode=ro\n"));
	else if (!strcmp(s->words[0], "offline") && s->argc > 2 && strstr(s->words[2], "8:"))
		snprintf(now, size, "leg.%d.state=offline\nleg.%d.by_order=1\n%s",
			 atoi(s->words[2] + 2) / 16, atoi(s->words[2] + 2) / 16, before);
	else if (is_word(s, "replace") && (is_word(s, "wait") || is_word(s, "cancel")) &&
		 goes_on(after))
		end_shadow(now);
}

static bool ends_at_a_device(void)
{
	return strstr(output, "No such file") || strstr(output, "not in this test") ||
	       strstr(output, "DEV: not a leg of pool p") ||
	       strstr(output, "its table has no device that is to take");
}

/* The command in work: one that is not understood ends the program. */
static struct said in_work;

static void tell_command(void)
{
	if (in_work.argc)
		fault(sound_stats, "-", &in_work, "it is not understood");
}

static void carry_out(const char *faults, const char *advice, const struct said *s)
{
	const struct command *cmd = find_command(s->words[0]);
	struct said copy = *s;
	int status, i;

	for (i = 0; i < copy.argc; i++)
		copy.argv[i] = copy.words[i];
	if (!cmd) {
		fault(faults, advice, s, "there is no such command");
		return;
	}
	/* a mere name; or it looks at all devices of the host */
	if (s->argc == 1 || cmd == &cmd_import || cmd == &cmd_status) {
		passed++;
		return;
	}
	alarm(20);
	in_work = copy;
	status = run_command(cmd, cmd != &cmd_cancel || strcmp(copy.argv[2], "drain"), copy.argc,
			     copy.argv);
	in_work.argc = 0;
	alarm(0);
	/* Here whois cannot tell the owner of a block: there is no file system. */
	if (cmd == &cmd_whois)
		status = EXIT_DONE;
	if ((status == EXIT_REFUSED || status == EXIT_USAGE || status == EXIT_FAILED) &&
	    !ends_at_a_device())
		fault(faults, advice, s, output);
	else
		passed++;
}

static bool get_advice(char advice[ADVICE_BUF])
{
	struct dm_entry e = entry();
	json_object *pool = pool_object(&e, NULL);
	bool any = advice_text(pool, advice, ADVICE_BUF);

	json_object_put(pool);
	return any;
}

/* --- refusals ------------------------------------------------------------------------------ */

static const char *const orders[][5] = {
	{ "offline", "p", "8:0" }, { "offline", "p", "8:16" }, { "offline", "p", "8:32" },
	{ "offline", "p", "8:48" }, { "offline", "p", "8:80" }, { "online", "p", "8:0" },
	{ "online", "p", "8:16" }, { "online", "p", "8:48" }, { "online", "p", LEG_UUID(2) },
	{ "online", "p", "8:80" }, { "online", "p", LEG_UUID(6) }, { "detach", "p", "8:0" },
	{ "detach", "p", "8:16" }, { "detach", "p", "8:32" }, { "detach", "p", "8:80" },
	{ "attach", "p", "8:0", "NEW" }, { "attach", "p", "8:32", "NEW" },
	{ "attach", "p", "8:80", "NEW" }, { "replace", "p", "8:0", "NEW" },
	{ "replace", "p", "8:16", "NEW" }, { "replace", "p", "8:32", "NEW" },
	{ "replace", "p", "8:48", "NEW" }, { "replace", "p", "8:80", "NEW" },
	{ "replace", "p", "8:0" }, { "replace", "p", "8:80" }, { "remove", "p", "cache" },
	{ "cancel", "p", "drain" }, { "cancel", "p", "replace" }, { "grow", "p" },
	{ "set", "p", "cache_mode=writeback" }, { "set", "p", "cache_dirty_max=1G" },
	{ "wait", "-t", "replace", "p" }, { "wait", "-t", "resilver", "p" }, { "export", "p" },
	{ "scrub", "p" }, { "add", "p", "cache", "NEW" }, { "replace", "p", "8:32" },
	{ "replace", "p", "8:48" }, { "offline", "p", "8:112" }, { "detach", "p", "8:112" },
	{ "online", "p", "8:112" }, { "online", "p", SHADOW_UUID }, { "offline", "p", "8:64" },
	{ "add", "p", "mirror", "NEW", "DEV" },
};

/* The commands that @text names are carried out, one after the other. */
static void carry_out_all(const char *faults, const char *text)
{
	char now[FAULTS_LEN + 64];
	const char *at = text;
	struct said s;

	snprintf(now, sizeof(now), "%s", faults);
	sound_stats = now;
	while ((at = next_command(at, &s))) {
		carry_out(now, text, &s);
		change(&s, at, now, sizeof(now));
	}
	sound_stats = faults;
	write_table(faults);
}

static void try_advice(const char *faults)
{
	char advice[ADVICE_BUF];

	sound_stats = faults;
	if (!get_advice(advice))
		return;
	if (verbose)
		printf("%s    %s\n", faults, advice);
	carry_out_all(faults, advice);
}

static void try_order(const char *faults, const char *const *order)
{
	const struct command *cmd = find_command(order[0]);
	char mend[1024], *at;
	struct said s = { .argc = 0 };
	int status;

	for (; s.argc < 5 && order[s.argc]; s.argc++) {
		snprintf(s.words[s.argc], sizeof(s.words[0]), "%s", order[s.argc]);
		s.argv[s.argc] = s.words[s.argc];
	}
	the_leg = s.words[2];
	status = run_command(cmd, true, s.argc, s.argv);
	at = strstr(output, " -- ");
	if (!at || status == EXIT_DONE || ends_at_a_device())
		return;
	snprintf(mend, sizeof(mend), "%.*s", (int)strcspn(output, "\n"), output);
	if (verbose)
		printf("%s    %s\n", faults, mend);
	carry_out_all(faults, mend);
}

static void with(unsigned int m, unsigned int a, unsigned int b, unsigned int c, unsigned int d)
{
	char faults[FAULTS_LEN];
	unsigned int i;

	snprintf(faults, sizeof(faults), "%sstate=%s\n%s%s%s%s" PATHS, modes[m],
		 state_of(of_mirror[a], of_parity1[b], of_cache[c]), of_mirror[a], of_parity1[b],
		 of_cache[c], of_blocks[d]);
	write_table(faults);
	try_advice(faults);
	for (i = 0; !a + !b + !c > 1 && !d && i < sizeof(orders) / sizeof(*orders); i++)
		try_order(faults, orders[i]);
}

static int run_advised(bool tell)
{
	unsigned int m, a, b, c, d;

	verbose = tell;
	errors = stderr;
	takes = is_taken;
	walker = getpid();
	atexit(tell_command);
	all_sound = true;
	device_patience = 0;
	/* up to two faults at once; blocks that are lost come before all others */
	for each(m, modes)
		for each(a, of_mirror)
			for each(b, of_parity1)
				for each(c, of_cache)
					if (!a + !b + !c)
						with(m, a, b, c, 0);
	for each(m, modes)
		for (d = 1; d < sizeof(of_blocks) / sizeof(*of_blocks); d++)
			for each(a, of_mirror)
				with(m, a, 0, 0, d);
	printf("%u passed, %u failed\n", passed, failed);
	return !!failed;
}
