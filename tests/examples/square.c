/* A control loop: a cart follows a square by feedback. Each 10 ms the program reads where the cart is and commands a
 * twist towards the next corner.
 *
 *     cc square.c -o square $(pkg-config --cflags --libs troupe) -lm
 *     ./square $(pkg-config --variable=worldsdir troupe) */
#include <troupe/command.h>
#include <troupe/server.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char floor_with_cart[] =
	"<sdf version='1.9'><world name='floor'>"
	"<physics name='p' type='ode'><max_step_size>0.001</max_step_size></physics>"
	"<model name='ground'><static>true</static><link name='l'>"
	"<collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
	"<include><uri>models/cart</uri><name>cart</name></include></world></sdf>";

static const double corners[4][2] = {{2, 0}, {2, 2}, {0, 2}, {0, 0}};

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "square: %s\n", error->text);
	exit(1);
}

/* Drives forward when the cart points to the corner, and turns on the spot otherwise. ret_distance: to the corner. */
static struct troupe_twist steer(const struct troupe_pose *pose, const double corner[2], double *ret_distance)
{
	double dx = corner[0] - pose->x, dy = corner[1] - pose->y;
	double yaw = 2 * atan2(pose->qz, pose->qw); /* the floor is flat */
	double aside = remainder(atan2(dy, dx) - yaw, 2 * M_PI);
	*ret_distance = hypot(dx, dy);
	struct troupe_twist twist = {.angular.z = fmax(-1.5, fmin(1.5, 3 * aside))};
	if (fabs(aside) < 0.3)
		twist.linear.x = fmin(0.8, 0.1 + *ret_distance);
	return twist;
}

int main(int argc, char **argv)
{
	const char *const folders[] = {argc > 1 ? argv[1] : ".", NULL}; /* with models/cart in them */
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "floor.sdf"; /* a name for messages: the text is below */
	def.world_text = floor_with_cart;
	def.resource_paths = folders;
	def.pace = TROUPE_PACE_FACTOR; /* with rtf 0: as fast as possible */
	must(troupe_server_create(&def, &server, &error), &error);
	troupe_model cart = troupe_find_model(server, 0, "cart");

	int corner = 0;
	for (int i = 0; corner < 4 && i < 6000; i++) {
		struct troupe_model_state state;
		double distance;
		if (!troupe_get_model(server, cart, &state))
			return 1;
		struct troupe_twist twist = steer(&state.pose, corners[corner], &distance);
		must(troupe_command_twist(server, NULL, cart, &twist, NULL, &error), &error);
		if (i % 50 == 0)
			printf("%5.2f s  x %6.3f  y %6.3f  %.2f m/s\n", i * 0.01, state.pose.x, state.pose.y,
				hypot(state.twist.linear.x, state.twist.linear.y));
		if (distance < 0.02)
			printf("%5.2f s  corner %d: %.3f m off\n", i * 0.01, ++corner, distance);
		must(troupe_server_step(server, 10, &error), &error);
	}
	troupe_server_destroy(server);
	return corner < 4;
}
