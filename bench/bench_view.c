/* Measures the cost of the viewer: boxes that all move, and a page that takes pictures of them as a browser does, at 30
 * pictures a second. The baselines are the same boxes without a viewer, and with a viewer that no page uses. A third
 * page takes no byte: it must not cost more than one that does.
 *
 * The processor time of a step includes that of the page's thread, which takes the pictures. Where secondaries use all
 * cores, a step cannot take longer by more than that. */
#include "bench.h"

#include "../tests/gateway/web_client.h"
#include "base/text.h"

#include <troupe/gateway.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum way { WAY_ALONE, WAY_NO_PAGE, WAY_STUCK, WAY_PAGE, WAYS };

static const char *const names[WAYS] = {"no viewer", "a viewer without a page", "a page that takes nothing", "a page"};

struct page {
	struct troupe_gateway *view;
	int file;
	pthread_t thread;
	bool reads;
	_Atomic uint64_t pictures, bytes;
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_view: %s\n", what);
	exit(1);
}

/* Boxes on a grid that drift without gravity, each on a way of its own. */
static char *drifting_world(int count)
{
	struct text world = {0};
	text_add(&world, "<sdf version='1.9'><world name='w'><gravity>0 0 0</gravity>");
	for (int i = 0; i < count; i++)
		text_add(&world,
			"<model name='box_%d'><pose>%d %d 0 0 0 0</pose><link "
			"name='l'><inertial><mass>1</mass></inertial>"
			"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link>"
			"<plugin name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>0 0 "
			"1</initial_linear>"
			"</plugin></model>",
			i, 3 * (i % 100), 3 * (i / 100));
	text_add(&world, "</world></sdf>");
	return world.at;
}

/* Without a limit of time: while the other ways have their turns, no picture comes. */
static void *read_pictures(void *ctx)
{
	struct page *page = ctx;
	struct client_frame frame;
	struct timeval none = {0};
	(void)setsockopt(page->file, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
	while (client_take(page->file, &frame)) {
		atomic_fetch_add(&page->pictures, frame.kind == 2);
		atomic_fetch_add(&page->bytes, frame.body.count);
		text_fini(&frame.body);
	}
	return NULL;
}

static void connect_page(struct page *page)
{
	static const char motion[] = "{\"op\":\"motion\",\"world\":\"/world/w\"}";
	char address[200], host[40];
	unsigned port = 0;
	struct text upgrade = {0}, answer = {0}, frame = {0};
	troupe_gateway_describe(page->view, address, sizeof address);
	must(sscanf(address, "http://127.0.0.1:%u/", &port) == 1, address);
	(void)snprintf(host, sizeof host, "127.0.0.1:%u", port);
	page->file = client_connect((uint16_t)port);
	client_add_upgrade(&upgrade, "/view", host, "Sec-WebSocket-Protocol: troupe.view.v1\r\n");
	must(page->file >= 0 && client_send(page->file, upgrade.at, upgrade.count), "no connection");
	client_read_all(page->file, true, &answer);
	client_add_frame(&frame, 0x81, motion, sizeof motion - 1);
	must(client_send(page->file, frame.at, frame.count), "no connection");
	text_fini(&upgrade);
	text_fini(&answer);
	text_fini(&frame);
	if (page->reads)
		must(!pthread_create(&page->thread, NULL, read_pictures, page), "no thread");
}

static void start(struct page *page, struct troupe_server *server, enum way way)
{
	const struct troupe_gateway_def def = {.name = "view", .address = "0", .server = server};
	struct troupe_error error;
	page->file = -1;
	page->reads = way == WAY_PAGE;
	if (way == WAY_ALONE)
		return;
	must(!troupe_gateway_start(&def, &page->view, &error), error.text);
	if (way != WAY_NO_PAGE)
		connect_page(page);
}

static void stop(struct page *page)
{
	troupe_gateway_end(page->view, NULL);
	if (page->reads)
		(void)pthread_join(page->thread, NULL);
	if (page->file >= 0)
		(void)close(page->file);
}

struct figures {
	struct bench_samples rates, step_us; /* steps in a second; processor time of a step */
};

/* The ways take turns. A turn begins with steps that are not measured: the viewer makes pictures by the real-time
 * factor of the last moments, and those were of another way. Returns the pictures of the measured time, in a second of
 * it. */
static double take_turns(const struct bench_options *options, struct troupe_server *const *servers, struct page *page,
	uint64_t steps, struct figures *figures)
{
	uint64_t until = 0, pictures = 0;
	double page_ns = 0;
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "viewer", r);
		for (int way = 0; way < WAYS; way++) {
			(void)bench_run(servers[way], until + steps / 2);
			uint64_t before = page->pictures;
			double begin_ns = bench_processor_ns(), ns = bench_run(servers[way], until + steps / 2 + steps);
			if (r >= 0) {
				bench_add(&figures[way].rates, (double)steps / ns * 1e9);
				bench_add(
					&figures[way].step_us, (bench_processor_ns() - begin_ns) / (double)steps / 1e3);
			}
			pictures += page->pictures - before;
			page_ns += way == WAY_PAGE ? ns : 0;
		}
		until += steps / 2 + steps;
	}
	return (double)pictures / page_ns * 1e9;
}

static void print(const struct bench_options *options, const char *what, enum way way, const struct figures *figures,
	uint64_t hash)
{
	char subject[128];
	(void)snprintf(subject, sizeof subject, "%s, %s", what, names[way]);
	bench_print(options, &(struct bench_row){subject, "steps/s", &figures[way].rates, &figures[WAY_ALONE].rates,
				     .at_least = 0.95, .hash = hash});
	bench_print(options, &(struct bench_row){"  in processor time", "us/step", &figures[way].step_us,
				     &figures[WAY_ALONE].step_us, .at_most = 1 / 0.95});
}

static void measure(const struct bench_options *options, int boxes, int secondaries, uint64_t steps)
{
	char *world = drifting_world(boxes), what[64];
	struct troupe_server *servers[WAYS];
	struct page pages[WAYS] = {0};
	struct figures figures[WAYS] = {0};
	(void)snprintf(what, sizeof what, "%d boxes on %d", boxes, secondaries);
	for (int way = 0; way < WAYS; way++) {
		servers[way] = bench_server(world, secondaries);
		start(&pages[way], servers[way], way);
	}
	double pictures_hz = take_turns(options, servers, &pages[WAY_PAGE], steps, figures);
	for (int way = WAY_NO_PAGE; way < WAYS; way++) {
		print(options, what, way, figures, troupe_server_hash(servers[way]));
		bench_same(servers[WAY_ALONE], servers[way], "with and without a viewer");
	}
	for (int way = 0; way < WAYS; way++) {
		stop(&pages[way]);
		troupe_server_destroy(servers[way]);
	}
	uint64_t pictures = pages[WAY_PAGE].pictures;
	must(pictures, "the page was sent no picture");
	fprintf(stderr, "%s: %.1f pictures a second, %.0f kB each\n", what, pictures_hz,
		(double)pages[WAY_PAGE].bytes / 1e3 / (double)pictures);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "bench_view: boxes that all move, and a page that takes pictures; baseline: no viewer");
	measure(&options, options.smoke ? 100 : 10000, 1, options.smoke ? 50 : 100);
	measure(&options, options.smoke ? 100 : 10000, 2, options.smoke ? 50 : 200);
	return 0;
}
