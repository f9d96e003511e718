// A plug-in in C++: a spring and a damper between a link and the place where it was at the beginning. It pushes its own
// model in every step, so it is pre_update(), which is called on the runner that simulates the model.
//
//     g++ -std=c++11 -shared -fPIC tether.cc -o libtether.so $(pkg-config --cflags troupe)
#include <troupe/plugin.h>

namespace
{

struct Config {
	uint32_t link;
	double stiffness, damping;
};

struct Words { // members are double or uint64_t only
	uint64_t begun;
	troupe_vec3 anchor;
};

const troupe_parameter parameters[] = {
	{"link_name", TROUPE_TEXT, 0, 0, "the link"},
	{"stiffness", TROUPE_NUMBER, 0, 1e6, "N/m; default 100"},
	{"damping", TROUPE_NUMBER, 0, 1e6, "N s/m; default 0"},
	{nullptr, TROUPE_PARTS, 0, 0, nullptr},
};

const troupe_words words_of[] = {
	{"begun", TROUPE_WORD_INTEGER},
	{"anchor x", TROUPE_WORD_DOUBLE},
	{"anchor y", TROUPE_WORD_DOUBLE},
	{"anchor z", TROUPE_WORD_DOUBLE},
	{nullptr, TROUPE_WORD_DOUBLE},
};

bool configure(troupe_system *self, const troupe_element *plugin)
{
	const troupe_host *host = self->host;
	Config *config = static_cast<Config *>(host->alloc(self, sizeof(Config)));
	self->config = config;
	if (!host->must_move(self))
		return false;
	const troupe_element *name = host->child(plugin, "link_name", nullptr);
	if (!name)
		return host->refuse(self, plugin, "the plugin has no <link_name>: expected the name of a link");
	config->link = host->link(self, name, host->text_of(name));
	config->stiffness = host->number(self, plugin, "stiffness", 100);
	config->damping = host->number(self, plugin, "damping", 0);
	return config->link != TROUPE_NOTHING;
}

void pre_update(const troupe_system *self, const troupe_step *step, void *memory)
{
	const troupe_host *host = self->host;
	const Config *config = static_cast<const Config *>(self->config);
	Words *words = static_cast<Words *>(memory);
	troupe_vec3 centre = host->centre(step, config->link, TROUPE_NOW);
	if (!words->begun) {
		words->begun = 1;
		words->anchor = centre;
	}
	troupe_vec3 pull = troupe_vec3_scale(troupe_vec3_sub(words->anchor, centre), config->stiffness);
	troupe_vec3 drag = troupe_vec3_scale(host->centre_velocity(step, config->link, TROUPE_NOW), config->damping);
	troupe_wrench wrench = {troupe_vec3_sub(pull, drag), troupe_vec3_make(0, 0, 0)};
	host->link_force(step, config->link, host->link_inertia(self, config->link).centre, wrench);
}

const char *const names[] = {"Tether", nullptr};

// C++11 has no designated initializers. Members that a later header adds stay empty.
troupe_kind make_kind()
{
	troupe_kind kind = {};
	kind.size = sizeof(troupe_kind);
	kind.flags = TROUPE_IN_MODEL;
	kind.names = names;
	kind.parameters = parameters;
	kind.words = words_of;
	kind.configure = configure;
	kind.pre_update = pre_update;
	return kind;
}

const troupe_kind tether = make_kind();

const troupe_kind *const kinds[] = {&tether, nullptr};

} // namespace

TROUPE_PLUGIN_SYMBOL = {sizeof(troupe_plugin), TROUPE_PLUGIN_ABI, "tether", "1", kinds};
