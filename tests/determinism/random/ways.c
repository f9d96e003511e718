/* Every run prints a line for each state and each reply to a command, so that two runs are compared line by line and
 * the first difference has a step. A run that fails must fail with the same words in all ways, at the same step. All
 * members of the report are compared, except those about time, work and messages. */
#include "base/infile.h"
#include "ways.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLAGS "--rtf 0 -v 0 --hash-every 1 --trace"

bool failure_set(struct failure *failure, const char *what, uint64_t step, const char *format, ...)
{
	va_list args;
	snprintf(failure->what, sizeof failure->what, "%s", what);
	va_start(args, format);
	vsnprintf(failure->text, sizeof failure->text, format, args);
	va_end(args);
	failure->step = step;
	return false;
}

/* --- command lines ------------------------------------------------------------------------------------------------ */

static const struct placement single = {.secondaries = 0};

/* Options that run and replay share. */
static void add_placement(const struct placement *placement, struct text *out)
{
	if (!placement->tuned)
		text_add(out, " --secondaries %u", placement->secondaries);
	if (placement->tcp)
		text_add(out, " --transport tcp --network-stale-ms 60000");
	if (placement->chaos)
		text_add(out, " --chaos %" PRIu64, placement->chaos_seed);
}

static void add_policy(const struct placement *placement, struct text *out)
{
	if (placement->chaos && placement->chaos_moves)
		text_add(out, " --chaos-moves %u", placement->chaos_moves);
	if (placement->window)
		text_add(out, " --window %u", placement->window);
	if (placement->balanced)
		text_add(out, " --distribution balanced");
	if (placement->anew)
		text_add(out, " --anew");
	if (placement->pin)
		text_add(out, " --pin %s=1", placement->pin);
}

static void add_run_of(const struct scenario *scenario, const char *commands, uint64_t steps,
	const struct placement *placement, struct text *out)
{
	text_add(
		out, "run world.sdf --commands %s " FLAGS " --iterations %" PRIu64 " --report report", commands, steps);
	scenario_options(scenario, out);
	add_placement(placement, out);
	add_policy(placement, out);
}

static void add_run(const struct scenario *scenario, const struct placement *placement, struct text *out)
{
	add_run_of(scenario, "commands", scenario->steps, placement, out);
}

static void add_resume(
	const struct scenario *scenario, const char *state, const struct placement *placement, struct text *out)
{
	text_add(out, "run --resume %s " FLAGS " --iterations %" PRIu64 " --report report", state, scenario->steps);
	add_placement(placement, out);
	add_policy(placement, out);
}

/* Whether commands can be given after a resume only: this needs models that may have been created before it, because a
 * command for a topic without listener is refused at once otherwise. */
static bool is_late(const struct scenario *scenario, const struct way *way)
{
	for (uint32_t i = 0; way->late && i < scenario->commands->children.count; i++) {
		const struct part *command = scenario->commands->children.at[i];
		if (part_is_there(command) && command->command == COMMAND_CREATES && command->step < way->at)
			return true;
	}
	return false;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

#define TABLE " --log-what model,joint,odometry,link,effort,contact,sensor"

/* Options that must not change what is in other files. */
static void add_files_of(const struct way *way, struct text *out)
{
	static const char *const options[] = {
		" --record tape --record-every 7", " --commands-out out", " --costs costs", " --save-every 13 saved"};
	for (uint32_t i = 0; i < ARRAY_LEN(options); i++)
		if (way->more >> i & 1)
			text_add(out, "%s", options[i]);
}

/* --- a state that is taken up while the world runs ---------------------------------------------------------------- */

enum { UNDER_DEEDS = 4 };

static const struct part *some_edit(const struct scenario *scenario, uint32_t number)
{
	const part_list *all = &scenario->commands->children;
	for (uint32_t i = 0; i < all->count; i++) {
		const struct part *part = all->at[(number + i) % all->count];
		if (part_is_there(part) && (part->command == COMMAND_EDIT || part->command == COMMAND_CREATES))
			return part;
	}
	return NULL;
}

/* The commands of the run that takes the state up: those before that step, and in it some edits and one resume or two;
 * the last of them is a resume. */
static void write_under(const struct scenario *scenario, const char *folder, const struct way *way)
{
	struct text out = {0};
	text_add(&out, "%s", "");
	for (uint32_t i = 0; i < scenario->commands->children.count; i++)
		if (scenario->commands->children.at[i]->step < way->from)
			part_print(scenario->commands->children.at[i], &out);
	for (uint32_t i = 0; i < UNDER_DEEDS; i++) {
		const struct part *edit = way->more >> i & 1 ? some_edit(scenario, way->more >> 4 << i) : NULL;
		struct text line = {0};
		if (edit)
			part_print(edit, &line);
		if (edit)
			text_add(&out, "%" PRIu64 "%s", way->from, strchr(line.at, ' '));
		if (i + 1 == UNDER_DEEDS || (i == 1 && way->more & 8))
			text_add(&out, "%" PRIu64 " /world/w0/resume data: \"state\"\n", way->from);
		text_fini(&line);
	}
	scenario_write_text(folder, "commands.under", &out);
	text_fini(&out);
}

/* The step that leads from the state to the one after it is the step after that of the command. */
static uint64_t steps_under(const struct scenario *scenario, const struct way *way)
{
	return way->from + 1 + (scenario->steps - way->at);
}

enum { LINES_MAX = 4 };

/* The command lines of the way, in order, without the name of the program. Returns their number. */
static uint32_t lines_of(const struct scenario *scenario, const struct way *way, struct text lines[LINES_MAX])
{
	uint32_t count = 1;
	double time_s;
	uint64_t step;
	switch (way->kind) {
	case WAY_ALONE:
		return 0;
	case WAY_PLAIN:
		add_run(scenario, &way->first, &lines[0]);
		break;
	case WAY_RESUME:
		if (is_late(scenario, way))
			add_run_of(scenario, "commands.before", MAX(way->at, (uint64_t)1), &way->first, &lines[0]);
		else
			add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --save-at %" PRIu64 " state", way->at);
		add_resume(scenario, "state", &way->second, &lines[1]);
		if (is_late(scenario, way))
			text_add(&lines[1], " --commands commands.after");
		count = 2;
		if (!way->again)
			break;
		text_add(&lines[1], " --save-at %" PRIu64 " state2", way->again);
		add_resume(scenario, "state2", &way->third, &lines[2]);
		count = 3;
		break;
	case WAY_REPLAY:
		add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --record tape --record-every %" PRIu64, way->every);
		text_add(&lines[1], "replay tape -v 3");
		add_placement(&way->second, &lines[1]);
		count = 2;
		break;
	case WAY_STOP:
		add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --save-on-stop state");
		add_resume(scenario, "state", &way->second, &lines[1]);
		count = 2;
		break;
	case WAY_LOST:
		add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --save-on-stop state");
		add_resume(scenario, "state", &way->second, &lines[1]);
		count = 2;
		break;
	case WAY_UNDER:
		add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --save-at %" PRIu64 " state", way->at);
		add_run_of(scenario, "commands.under", steps_under(scenario, way), &way->second, &lines[1]);
		text_add(&lines[1], " --save-dir . --record tape --record-every %" PRIu64 " --commands-out out",
			way->every);
		text_add(&lines[2], "replay tape -v 3");
		add_placement(&way->third, &lines[2]);
		add_run_of(scenario, "out", steps_under(scenario, way), &single, &lines[3]);
		text_add(&lines[3], " --save-dir .");
		count = 4;
		break;
	case WAY_FILES:
		add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --mcap a.mcap --log a.csv" TABLE);
		add_run(scenario, &way->second, &lines[1]);
		text_add(&lines[1], " --mcap b.mcap --log b.csv" TABLE " --save-at %" PRIu64 " state", way->at);
		add_files_of(way, &lines[1]);
		add_resume(scenario, "state", &way->third, &lines[2]);
		text_add(&lines[2], " --log c.csv" TABLE);
		count = 3;
		break;
	case WAY_UNTIL:
		if (!rules_until(scenario, way->at, &time_s, &step))
			return 0;
		add_run(scenario, &way->first, &lines[0]);
		text_add(&lines[0], " --until %.17g", time_s);
		break;
	}
	return count;
}

static void reference_line(const struct scenario *scenario, struct text *out)
{
	add_run(scenario, &single, out);
}

void ways_print(const struct troupe *troupe, const struct scenario *scenario, const struct way *way, struct text *out)
{
	struct text lines[LINES_MAX] = {{0}}, reference = {0};
	uint32_t count = lines_of(scenario, way, lines);
	reference_line(scenario, &reference);
	text_add(out, "%s %s\n", troupe->program, reference.at);
	for (uint32_t i = 0; i < count; i++)
		text_add(out, "%s %s\n", troupe->program, lines[i].at);
	text_fini(&reference);
	for (uint32_t i = 0; i < LINES_MAX; i++)
		text_fini(&lines[i]);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static uint64_t step_of(const char *line)
{
	const char *blank = strchr(line, ' ');
	return blank ? strtoull(blank + 1, NULL, 10) : 0;
}

/* Cuts the output into lines. */
static void read_lines(struct account *account)
{
	char *at = account->process.out;
	while (*at) {
		char *end = strchr(at, '\n');
		if (!end)
			break; /* the run was killed while it wrote a line */
		*end = '\0';
		if (!strncmp(at, "hash ", 5)) {
			if (!account->hashes.count)
				account->first_hash = step_of(at);
			vec_push(&account->hashes, at);
		} else if (!strncmp(at, "reply ", 6)) {
			const char *topic = strchr(at + 6, ' '), *outcome = topic ? strchr(topic + 1, ' ') : NULL;
			account->has_failed |= outcome && !strncmp(outcome, " failed", 7);
			vec_push(&account->replies, at);
		} else {
			vec_push(&account->others, at);
		}
		at = end + 1;
	}
}

static char *read_report(const char *folder)
{
	enum { REPORT_BYTES_MAX = 1 << 26 };
	char *path = mem_printf("%s/report", folder), *text;
	size_t count;
	bool good = !infile_read(path, REPORT_BYTES_MAX, &text, &count, NULL);
	free(path);
	return good ? text : NULL;
}

static void run_line(struct troupe *troupe, const char *folder, const char *line, const struct process_strike *strike,
	struct account *ret)
{
	char *whole = mem_printf("%s %s", troupe->program, line), *copy, *report = mem_printf("%s/report", folder);
	word_list words = {0};
	process_words(whole, &copy, &words);
	*ret = (struct account){0};
	(void)unlink(report);
	process_run(words.at, folder, troupe->limit_s, strike, &ret->process);
	troupe->cpu_s += ret->process.cpu_s;
	troupe->runs++;
	ret->report = read_report(folder);
	read_lines(ret);
	vec_free(&words);
	free(report);
	free(copy);
	free(whole);
}

void account_fini(struct account *account)
{
	process_fini(&account->process);
	free(account->report);
	vec_free(&account->hashes);
	vec_free(&account->replies);
	vec_free(&account->others);
	account->report = NULL;
}

uint64_t account_last_step(const struct account *account)
{
	return account->hashes.count ? account->first_hash + account->hashes.count - 1 : 0;
}

/* --- what a failure is like --------------------------------------------------------------------------------------- */

static const char *last_line(char *text)
{
	size_t count = strlen(text);
	while (count && text[count - 1] == '\n')
		text[--count] = '\0';
	char *newline = strrchr(text, '\n');
	return newline ? newline + 1 : text;
}

enum { LIKE_BYTES = 80 };

/* The message without quoted parts and without words that have digits, and cut short: so a smaller world can have the
 * same message. */
static void without_details(const char *text, char out[LIKE_BYTES])
{
	char word[64];
	size_t used = 0;
	for (bool quoted = false; *text; text += strspn(text, " ")) {
		size_t count = strcspn(text, " "), kept = 0;
		for (size_t i = 0; i < count; i++) {
			quoted ^= text[i] == '\'';
			if (!quoted && text[i] != '\'' && kept + 1 < sizeof word)
				word[kept++] = text[i];
		}
		word[kept] = '\0';
		if (kept && !strpbrk(word, "0123456789") && used + kept + 2 < LIKE_BYTES)
			used += (size_t)snprintf(out + used, LIKE_BYTES - used, "%s%s", used ? " " : "", word);
		text += count;
	}
	out[used] = '\0';
}

static bool crash(const char *what, const char *line, struct account *account, struct failure *ret)
{
	char kind[FAILURE_WHAT_BYTES], like[LIKE_BYTES];
	const char *said = last_line(account->process.err);
	without_details(said, like);
	snprintf(kind, sizeof kind, "%s %d %s", what, account->process.status, like);
	return failure_set(ret, kind, account_last_step(account) + 1,
		"%s\n  ended with %s%d after step %" PRIu64 ": %s", line,
		account->process.status > 128 ? "128 + signal, " : "status ", account->process.status,
		account_last_step(account), said);
}

static bool diverged(const struct account *account)
{
	return account->process.status == 4 && strstr(account->process.err, "diverged");
}

static bool replied_badly(const struct account *account, uint64_t from_step)
{
	for (uint32_t i = 0; i < account->replies.count; i++) {
		const char *line = account->replies.at[i], *topic = strchr(line + 6, ' ');
		const char *outcome = topic ? strchr(topic + 1, ' ') : NULL;
		if (step_of(line) >= from_step && outcome && !strncmp(outcome, " failed", 7))
			return true;
	}
	return false;
}

/* --- the reference ------------------------------------------------------------------------------------------------ */

static bool ended_well(struct troupe *troupe, const struct scenario *scenario, const char *line, struct account *run,
	struct failure *ret)
{
	int status = run->process.status;
	if (status == PROCESS_HANGS)
		return crash("hangs", line, run, ret);
	if (diverged(run)) {
		if (troupe->diverging_fails)
			return crash("diverges", line, run, ret);
		return true;
	}
	if (status > 1)
		return crash("ends", line, run, ret);
	if (!run->hashes.count || account_last_step(run) != scenario->steps)
		return crash("is refused or stops early", line, run, ret);
	if (status != (int)replied_badly(run, 0))
		return crash("exit status is not that of the replies", line, run, ret);
	return true;
}

bool ways_reference(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	struct account *ret_reference, struct failure *ret)
{
	struct text line = {0};
	reference_line(scenario, &line);
	run_line(troupe, folder, line.at, NULL, ret_reference);
	bool good = ended_well(troupe, scenario, line.at, ret_reference, ret);
	good = good && rules_hold(scenario, ret_reference, ret);
	text_fini(&line);
	return good;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static bool differ(
	struct failure *ret, const char *what, uint64_t step, const char *line, const char *expected, const char *found)
{
	return failure_set(ret, what, step, "%s\n  expected %s\n  found    %s", line,
		expected ? expected : "nothing more", found ? found : "nothing more");
}

/* Compares the lines of states after from_step. */
static bool same_hashes(const struct account *reference, const struct account *run, uint64_t from_step,
	const char *line, struct failure *ret)
{
	uint32_t first = 0;
	while (first < reference->hashes.count && step_of(reference->hashes.at[first]) <= from_step)
		first++;
	for (uint32_t i = 0; first + i < reference->hashes.count || i < run->hashes.count; i++) {
		const char *expected = first + i < reference->hashes.count ? reference->hashes.at[first + i] : NULL;
		const char *found = i < run->hashes.count ? run->hashes.at[i] : NULL;
		if (!expected || !found)
			return differ(ret, "length", step_of(expected ? expected : found), line, expected, found);
		if (strcmp(expected, found) != 0)
			return differ(ret, "hash", step_of(expected), line, expected, found);
	}
	return true;
}

static bool same_replies(const struct account *reference, const struct account *run, uint64_t from_step,
	const char *line, struct failure *ret)
{
	uint32_t first = 0;
	while (first < reference->replies.count && step_of(reference->replies.at[first]) < from_step)
		first++;
	for (uint32_t i = 0; first + i < reference->replies.count || i < run->replies.count; i++) {
		const char *expected = first + i < reference->replies.count ? reference->replies.at[first + i] : NULL;
		const char *found = i < run->replies.count ? run->replies.at[i] : NULL;
		if (!expected || !found || strcmp(expected, found) != 0)
			return differ(ret, "reply", step_of(expected ? expected : found), line, expected, found);
	}
	return true;
}

/* Members of the report about the way of the run, not its outcome. */
static bool tells_how(const char *line)
{
	static const char *const names[] = {"wall_time", "serial_time", "paused_time", "paused_steps", "rtf",
		"textures", "texture_bytes", "steps_per_second", "moves", "meetings", "peak_memory_bytes", "network",
		"bytes_sent", "bytes_received", "step_bytes", "ack_bytes", "robot_steps", "bytes_per_robot_step",
		"largest_part_s", "unread_meshes", "meshes_read", "meshes_given_up", "meshes_held", "mesh_bytes", "secondaries", "windows", "tuning"};
	line += strspn(line, " {");
	if (*line != '"')
		return false;
	size_t count = strcspn(line + 1, "\"");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == count && !strncmp(line + 1, names[i], count))
			return true;
	return false;
}

/* The next line of a report that is compared, without its line end; NULL: none. */
static char *next_line(char **at)
{
	while (**at) {
		char *line = *at;
		size_t count = strcspn(line, "\n");
		*at = line + count + (line[count] == '\n');
		if (tells_how(line)) {
			/* a list ends with the line that closes it */
			bool list = count && (line[count - 1] == '[' || line[count - 1] == '{');
			while (list && **at) {
				const char *inner = *at;
				size_t length = strcspn(inner, "\n");
				*at += length + (inner[length] == '\n');
				if (!strncmp(inner, "  ]", 3) || !strncmp(inner, "  }", 3))
					break;
			}
			continue;
		}
		line[count] = '\0';
		return line;
	}
	return NULL;
}

static bool same_reports(const char *expected, const char *found, const char *line, struct failure *ret)
{
	if (!expected || !found)
		return !expected == !found || differ(ret, "report", UINT64_MAX, line, expected ? "a report" : "none",
						      found ? "a report" : "none");
	char *a = mem_strdup(expected), *b = mem_strdup(found), *at_a = a, *at_b = b, *line_a, *line_b;
	bool same = true;
	do {
		line_a = next_line(&at_a);
		line_b = next_line(&at_b);
		same = (!line_a && !line_b) || (line_a && line_b && !strcmp(line_a, line_b));
	} while (same && line_a);
	if (!same)
		(void)differ(ret, "report", UINT64_MAX, line, line_a, line_b);
	free(a);
	free(b);
	return same;
}

/* Compares the exit status and the last message; of refused commands only those after from_step count. */
static bool same_end(
	const struct account *reference, struct account *run, uint64_t from_step, const char *line, struct failure *ret)
{
	int expected = reference->process.status;
	if (expected <= 1)
		expected = replied_badly(reference, from_step);
	bool refused = run->process.status == 1 && !strstr(run->process.err, "could not be obeyed");
	if (run->process.status != expected || refused) {
		char what[FAILURE_WHAT_BYTES], like[LIKE_BYTES];
		const char *said = last_line(run->process.err);
		without_details(said, like);
		if (refused)
			snprintf(what, sizeof what, "refused: %s", like);
		else
			snprintf(what, sizeof what, "status %d, not %d: %s", run->process.status, expected, like);
		return failure_set(ret, what, account_last_step(run) + 1,
			"%s\n  expected exit status %d: %s\n  found    exit status %d: %s", line, expected,
			last_line(reference->process.err), run->process.status, said);
	}
	if (expected == 4 && strcmp(reference->process.err, run->process.err) != 0)
		return differ(
			ret, "message", account_last_step(run) + 1, line, reference->process.err, run->process.err);
	return true;
}

/* All but the reports: these say more when more is observed. */
static bool same_run(
	const struct account *reference, struct account *run, uint64_t from_step, const char *line, struct failure *ret)
{
	if (run->process.status == PROCESS_HANGS || run->process.status > 128)
		return crash("ends", line, run, ret);
	bool good = same_hashes(reference, run, from_step, line, ret);
	if (!good && !strcmp(ret->what, "length")) {
		/* the reason of the end says more than its step */
		struct failure length = *ret;
		if (!same_end(reference, run, from_step, line, ret) ||
			!same_replies(reference, run, from_step, line, ret))
			return false;
		*ret = length;
	}
	return good && same_replies(reference, run, from_step, line, ret) &&
	       same_end(reference, run, from_step, line, ret);
}

static bool same(const struct scenario *scenario, const struct account *reference, struct account *run,
	uint64_t from_step, const char *line, struct failure *ret)
{
	return same_run(reference, run, from_step, line, ret) &&
	       same_reports(reference->report, run->report, line, ret) && rules_report(scenario, run->report, ret);
}

/* --- the ways ----------------------------------------------------------------------------------------------------- */

/* Whether the replay tells of so many steps. */
static bool replayed(const struct account *run, const char *all)
{
	bool found = false;
	for (uint32_t i = 0; i < run->others.count && !found; i++)
		found = !strncmp(run->others.at[i], all, strlen(all));
	return found;
}

/* Whether all states of the replay are those of the reference, and the replay reports so. */
static bool same_replay(const struct account *reference, struct account *run, const char *line, struct failure *ret)
{
	if (run->process.status == PROCESS_HANGS || run->process.status > 128)
		return crash("ends", line, run, ret);
	for (uint32_t i = 0; i < run->hashes.count; i++) {
		uint64_t step = step_of(run->hashes.at[i]);
		if (!reference->hashes.count || step < reference->first_hash || step > account_last_step(reference))
			continue;
		const char *expected = reference->hashes.at[step - reference->first_hash];
		if (strcmp(expected, run->hashes.at[i]) != 0)
			return differ(ret, "replay", step, line, expected, run->hashes.at[i]);
	}
	char all[64];
	(void)snprintf(all, sizeof all, "%" PRIu64 " steps, ", account_last_step(reference));
	if (!run->process.status && reference->first_hash <= 1 && !replayed(run, all))
		return failure_set(ret, "replay, length", UINT64_MAX, "%s\n  expected '%s...'", line, all);
	if (!run->process.status)
		return true;
	char what[FAILURE_WHAT_BYTES], like[LIKE_BYTES];
	const char *said = *run->process.err ? last_line(run->process.err) : "";
	without_details(said, like);
	snprintf(what, sizeof what, "replay, status %d: %s", run->process.status, like);
	return failure_set(ret, what, UINT64_MAX, "%s\n  ended with status %d: %s", line, run->process.status, said);
}

/* Compares the states that a run has with those of the reference. */
static bool same_beginning_of(
	const struct account *reference, const struct account *run, const char *line, struct failure *ret)
{
	for (uint32_t i = 0; i < run->hashes.count && i < reference->hashes.count; i++)
		if (strcmp(reference->hashes.at[i], run->hashes.at[i]) != 0)
			return differ(ret, "hash", step_of(run->hashes.at[i]), line, reference->hashes.at[i],
				run->hashes.at[i]);
	return true;
}

/* Compares the states of a shorter run, which differs only by its commands. */
static bool same_beginning(const struct account *reference, struct account *run, const char *line, struct failure *ret)
{
	if (run->process.status > 1)
		return crash("ends", line, run, ret);
	return same_beginning_of(reference, run, line, ret);
}

static bool same_until(const struct scenario *scenario, const struct account *reference, struct account *run,
	const struct way *way, const char *line, struct failure *ret)
{
	double time_s;
	uint64_t step;
	if (!rules_until(scenario, way->at, &time_s, &step) || step > account_last_step(reference))
		return true;
	uint64_t reached = account_last_step(run);
	if (reached != step)
		return failure_set(ret, "until", MAX(reached, step) + 1,
			"%s\n  expected the end at step %" PRIu64 "\n  found it at step %" PRIu64, line, step, reached);
	return same_beginning(reference, run, line, ret);
}

/* The first step that a line of the way takes. If a state was saved because a step failed, the commands of this step
 * have been obeyed, and their replies printed. */
static uint64_t begins_at(const struct account *reference, const struct way *way, uint32_t line)
{
	if (!line)
		return 0;
	if (way->kind == WAY_STOP)
		return account_last_step(reference) + 1;
	if (way->kind == WAY_FILES)
		return line == 1 ? 0 : way->at;
	return line == 1 ? way->at : way->again;
}

/* --- a secondary that is lost ------------------------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *name)
{
	char *path = mem_printf("%s/%s", folder, name);
	bool has = !access(path, R_OK);
	free(path);
	return has;
}

/* Whether the replies of both runs, one after the other, are those of the reference. */
static bool same_replies_of_both(const struct account *reference, const struct account *first,
	const struct account *second, const char *line, struct failure *ret)
{
	uint32_t count = first->replies.count + second->replies.count;
	for (uint32_t i = 0; i < MAX(count, reference->replies.count); i++) {
		const char *expected = i < reference->replies.count ? reference->replies.at[i] : NULL;
		const char *found = i < first->replies.count ? first->replies.at[i]
				    : i < count              ? second->replies.at[i - first->replies.count]
							     : NULL;
		if (!expected || !found || strcmp(expected, found) != 0)
			return differ(ret, "reply", step_of(expected ? expected : found), line, expected, found);
	}
	return true;
}

/* Runs both lines. The step in which the run was struck follows from the states that the second run has. */
static bool try_lost(struct troupe *troupe, const char *folder, const struct account *reference, const struct way *way,
	const struct text *lines, struct failure *ret)
{
	const struct process_strike strike = {.blow = way->told ? PROCESS_IS_TOLD_TO_STOP : PROCESS_LOSES_CHILD,
		.line = "hash ",
		.lines = way->at,
		.child = way->more};
	struct account first, second = {0};
	char *state = mem_printf("%s/state", folder);
	(void)unlink(state);
	run_line(troupe, folder, lines[0].at, &strike, &first);
	bool spared = account_last_step(&first) == account_last_step(reference);
	/* one that is told to stop after its last step, while it ends, ends by the signal */
	bool late = way->told && spared && first.process.status == 128 + SIGTERM;
	bool good = first.process.status != PROCESS_HANGS && (first.process.status <= 128 || late);
	if (!good)
		(void)crash("ends", lines[0].at, &first, ret);
	good = good && same_beginning_of(reference, &first, lines[0].at, ret);
	if (good && !spared && !has_file(folder, "state"))
		good = crash("saves nothing", lines[0].at, &first, ret);
	if (good && has_file(folder, "state")) {
		run_line(troupe, folder, lines[1].at, NULL, &second);
		good = second.process.status != PROCESS_HANGS && second.process.status <= 128;
		if (!good)
			(void)crash("ends", lines[1].at, &second, ret);
		uint64_t from = second.hashes.count ? second.first_hash - 1 : account_last_step(reference);
		good = good && same_hashes(reference, &second, from, lines[1].at, ret) &&
		       same_replies_of_both(reference, &first, &second, lines[1].at, ret);
	}
	account_fini(&first);
	account_fini(&second);
	free(state);
	return good;
}

/* --- a state that is taken up ------------------------------------------------------------------------------------- */

/* A state in which commands wait that name files is refused. */
static bool ways_is_refused(const struct account *run)
{
	for (uint32_t i = 0; i < run->replies.count; i++)
		if (strstr(run->replies.at[i], "for commands that waited: expected a state without such commands"))
			return true;
	return false;
}

/* The states after the step of the command are those of the reference after the state that was saved. */
static bool same_under(const struct account *reference, struct account *run, const struct way *way, const char *line,
	struct failure *ret)
{
	if (run->process.status == PROCESS_HANGS || run->process.status > 128)
		return crash("ends", line, run, ret);
	if (ways_is_refused(run))
		return true;
	for (uint32_t i = 0; i < run->hashes.count; i++) {
		uint64_t step = step_of(run->hashes.at[i]);
		if (step <= way->from + 1)
			continue;
		uint64_t then = step - way->from - 1 + way->at;
		if (then < reference->first_hash || then > account_last_step(reference))
			continue;
		const char *expected = reference->hashes.at[then - reference->first_hash];
		if (strcmp(strrchr(expected, ' '), strrchr(run->hashes.at[i], ' ')) != 0)
			return differ(ret, "taken up", step, line, expected, run->hashes.at[i]);
	}
	uint64_t last = way->from + 1 + account_last_step(reference) - way->at;
	if (account_last_step(run) != last && account_last_step(run) > way->from)
		return failure_set(ret, "taken up, length", UINT64_MAX,
			"%s\n  ended at step %" PRIu64 ", expected %" PRIu64, line, account_last_step(run), last);
	return true;
}

static bool try_under(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	const struct account *reference, const struct way *way, const struct text *lines, struct failure *ret)
{
	struct account save, under, other;
	write_under(scenario, folder, way);
	run_line(troupe, folder, lines[0].at, NULL, &save);
	bool good = same(scenario, reference, &save, 0, lines[0].at, ret);
	account_fini(&save);
	if (!good)
		return false;
	run_line(troupe, folder, lines[1].at, NULL, &under);
	good = same_under(reference, &under, way, lines[1].at, ret);
	if (good) {
		run_line(troupe, folder, lines[2].at, NULL, &other);
		good = same_replay(&under, &other, lines[2].at, ret);
		account_fini(&other);
	}
	if (good) {
		run_line(troupe, folder, lines[3].at, NULL, &other);
		good = same_hashes(&under, &other, 0, lines[3].at, ret);
		account_fini(&other);
	}
	account_fini(&under);
	return good;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static char *ways_read_file(const char *folder, const char *name, size_t *ret_count)
{
	enum { FILE_BYTES_MAX = 1 << 28 };
	char *path = mem_printf("%s/%s", folder, name), *bytes = NULL;
	if (infile_read(path, FILE_BYTES_MAX, &bytes, ret_count, NULL))
		bytes = NULL;
	free(path);
	return bytes;
}

static bool same_files(const char *folder, const char *one, const char *other, const char *line, struct failure *ret)
{
	size_t count = 0, other_count = 0, at = 0;
	char *a = ways_read_file(folder, one, &count), *b = ways_read_file(folder, other, &other_count);
	while (a && b && at < MIN(count, other_count) && a[at] == b[at])
		at++;
	bool same = a && b && at == count && at == other_count;
	if (!same)
		(void)failure_set(ret, "files", UINT64_MAX, "%s\n  %s and %s differ from byte %zu on, of %zu and %zu",
			line, one, other, at, count, other_count);
	free(a);
	free(b);
	return same;
}

/* The rows of a table from this step on; the table stays the caller's. */
static const char *rows_from(const char *table, uint64_t step)
{
	const char *row = strchr(table, '\n');
	while (row && row[1] && strtoull(row + 1, NULL, 10) < step)
		row = strchr(row + 1, '\n');
	return row ? row + 1 : "";
}

static size_t row_length(const char *row)
{
	return strcspn(row, "\n") + (strchr(row, '\n') != NULL);
}

/* Sensors that measure at the end of a step have measured the state that was saved before it was saved: the rows of
 * this step that are not among those of the resumed run are passed over. */
static void pass_saved_rows(const char **expected, const char **found, uint64_t step)
{
	while (**expected && strtoull(*expected, NULL, 10) == step) {
		size_t length = row_length(*expected);
		*found += strncmp(*expected, *found, length) ? 0 : length;
		*expected += length;
	}
}

static bool same_rows(const char *folder, uint64_t step, const char *line, struct failure *ret)
{
	size_t count = 0;
	char *a = ways_read_file(folder, "a.csv", &count), *c = ways_read_file(folder, "c.csv", &count);
	const char *expected = a ? rows_from(a, step) : "", *found = c ? rows_from(c, step) : "";
	size_t at = 0, begin = 0;
	pass_saved_rows(&expected, &found, step);
	for (; expected[at] && expected[at] == found[at]; at++)
		begin = expected[at] == '\n' ? at + 1 : begin;
	bool same = a && c && !expected[at] && !found[at];
	if (!same)
		(void)failure_set(ret, "rows", UINT64_MAX, "%s\n  expected %.*s\n  found    %.*s", line,
			(int)strcspn(expected + begin, "\n"), expected + begin, (int)strcspn(found + begin, "\n"),
			found + begin);
	free(a);
	free(c);
	return same;
}

static bool compare_files(
	const char *folder, const struct way *way, uint32_t line_number, const char *line, struct failure *ret)
{
	if (line_number == 1)
		return same_files(folder, "a.csv", "b.csv", line, ret) &&
		       same_files(folder, "a.mcap", "b.mcap", line, ret);
	return line_number != 2 || same_rows(folder, way->at, line, ret);
}

/* --- one way ------------------------------------------------------------------------------------------------------ */

bool ways_try(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	const struct account *reference, const struct way *way, struct failure *ret)
{
	struct text lines[LINES_MAX] = {{0}};
	if (way->kind == WAY_STOP && reference->process.status != 4)
		return true; /* the smaller world does not diverge any more */
	uint32_t count = lines_of(scenario, way, lines);
	bool good = true;
	bool late = is_late(scenario, way), apart = way->kind == WAY_LOST || way->kind == WAY_UNDER;
	if (late)
		scenario_write_halves(scenario, folder, way->at);
	if (way->kind == WAY_LOST)
		good = try_lost(troupe, folder, reference, way, lines, ret);
	else if (way->kind == WAY_UNDER)
		good = try_under(troupe, scenario, folder, reference, way, lines, ret);
	for (uint32_t i = 0; i < count && good && !apart; i++) {
		struct account run;
		run_line(troupe, folder, lines[i].at, NULL, &run);
		if (late && !i)
			good = same_beginning(reference, &run, lines[i].at, ret);
		else if (way->kind == WAY_UNTIL)
			good = same_until(scenario, reference, &run, way, lines[i].at, ret);
		else if (way->kind == WAY_REPLAY && i)
			good = same_replay(reference, &run, lines[i].at, ret);
		else if (way->kind == WAY_FILES)
			good = same_run(reference, &run, begins_at(reference, way, i), lines[i].at, ret) &&
			       compare_files(folder, way, i, lines[i].at, ret);
		else
			good = same(scenario, reference, &run, begins_at(reference, way, i), lines[i].at, ret);
		account_fini(&run);
	}
	for (uint32_t i = 0; i < LINES_MAX; i++)
		text_fini(&lines[i]);
	return good;
}
