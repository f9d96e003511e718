/* Links with <kinematic> move exactly as commanded, and push what is in their way. If they were bodies of infinite mass
 * that forces and corrections still reach, they would fall, be stopped or turned; if ODE integrated their rotation, it
 * would fall short. */
#include "inside.h"

#define ROUNDING 1e-11 /* of a thousand additions */

TestSuite(kinematic, .fini = stop, .timeout = 60);

#define BOX(size, mu)                                                                                                  \
	"<collision name='c'><geometry><box><size>" size "</size></box></geometry><surface><friction><ode><mu>" mu     \
	"</mu><mu2>" mu "</mu2></ode></friction></surface></collision>"
#define MODEL(name, pose, rest) "<model name='" name "'><pose>" pose "</pose>" rest "</model>"
#define LINK(name, rest)                                                                                               \
	"<link name='" name "'><inertial><mass>2</mass><inertia><ixx>0.5</ixx><iyy>0.5</iyy><izz>0.5</izz></inertia>"  \
	"</inertial>" rest "</link>"
#define KINEMATIC "<kinematic>true</kinematic>"
#define DRIVEN "<plugin name='gz::sim::systems::VelocityControl' filename='x'/>"
#define GROUND                                                                                                         \
	"<model name='g'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 "        \
	"1</normal>"                                                                                                   \
	"</plane></geometry></collision></link></model>"

/* Nothing acts on it but the command: no gravity, no damping, not the ground that it is in. */
Test(kinematic, it_moves_as_its_command_says)
{
	start("0 0 -9.8", GROUND "%s",
		MODEL("k", "0 0 0.2 0 0 0",
			LINK("l", KINEMATIC
				"<velocity_decay><linear>0.1</linear><angular>0.1</angular></velocity_decay>" BOX(
					"1 1 1", "1")) DRIVEN));
	command("/model/k/cmd_vel", "linear {x: 0.5 z: -0.1} angular {z: 0}");
	steps(1000);
	expect_vector("v t", body("k", "l")->p, 0.5, 0, 0.2 - 0.1, ROUNDING);
	command("/model/k/cmd_vel", "angular {x: 2}");
	steps(1000);
	expect_vector("it does not move while it turns", body("k", "l")->p, 0.5, 0, 0.1, ROUNDING);
	/* the twist is in the model's frame; the turn is exact, not that of ODE's infinitesimal rotations */
	expect("w t", 2 * atan2(body("k", "l")->q.x, body("k", "l")->q.w), 2, ROUNDING);
	command("/model/k/cmd_vel", "linear {x: 0}");
	steps(1);
	cr_assert(vec3_length(body("k", "l")->v) == 0 && vec3_length(body("k", "l")->w) == 0);
}

/* A velocity stays, also one that is so slow that another body would sleep. */
Test(kinematic, a_velocity_stays)
{
	start("0 0 -9.8", "%s", MODEL("k", "0 0 3 0 0 0", LINK("l", KINEMATIC)));
	steps(1000); /* it sleeps */
	command("/world/w/set_velocity", "name: 'k' linear {y: 1e-4}");
	steps(5000);
	expect_vector("v t", body("k", "l")->p, 0, 5000 * 0.001 * 1e-4, 3, ROUNDING);
}

/* A block on the ground in front of it takes its velocity; what falls on it does not press it down. */
Test(kinematic, it_pushes_and_is_not_pushed)
{
	start("0 0 -9.8", GROUND "%s",
		MODEL("k", "0 0 0.5 0 0 0", LINK("l", KINEMATIC BOX("1 1 1", "0")) DRIVEN) MODEL("b", "1.2 0 0.5 0 0 0",
			LINK("l", BOX("1 1 1", "0.3"))) MODEL("f", "0 0 2 0 0 0", LINK("l", BOX("0.5 0.5 0.5", "0"))));
	command("/model/k/cmd_vel", "linear {x: 0.5}");
	steps(1000);
	expect_vector("it moves on", body("k", "l")->p, 0.5, 0, 0.5, ROUNDING);
	expect("the block has its velocity", body("b", "l")->v.x, 0.5, 1e-3);
	expect("the block is in front of it", body("b", "l")->p.x - body("k", "l")->p.x, 1, 2e-3);
	expect("the other one lies on it", body("f", "l")->p.z, 1.25, 2e-3);
}

/* Friction carries a box that stands on it. Two of them, and a static wall, do not disturb each other. */
Test(kinematic, it_carries)
{
	start("0 0 -9.8", "%s",
		MODEL("k", "0 0 0.5 0 0 0", LINK("l", KINEMATIC BOX("4 4 1", "1")) DRIVEN)
			MODEL("b", "0 0 1.25 0 0 0", LINK("l", BOX("0.5 0.5 0.5", "1")))
				MODEL("o", "1 0 0.6 0 0 0", LINK("l", KINEMATIC BOX("1 1 1", "1"))) MODEL(
					"w", "2 0 0.5 0 0 0", "<static>true</static>" LINK("l", BOX("1 1 1", "1"))));
	command("/model/k/cmd_vel", "linear {y: 1}");
	steps(1000);
	expect_vector("the platform", body("k", "l")->p, 0, 1, 0.5, ROUNDING);
	expect("the box on it", body("b", "l")->v.y, 1, 1e-3);
	expect("the box lags by the time that friction needs", body("b", "l")->p.y, 1 - 1 / (2 * G), 2e-3);
	expect_vector("the other one", body("o", "l")->p, 1, 0, 0.6, 0);
}

/* The same bits, whether ODE has the body in a step (another model is near) or not. */
Test(kinematic, company_makes_no_difference)
{
	struct body_state alone;
	for (int round = 0; round < 2; round++) {
		start("0 0 -9.8", "%s%s",
			MODEL("k", "0 0 3 0.1 0.2 0.3", LINK("l", KINEMATIC BOX("1 1 1", "1")) DRIVEN),
			round ? MODEL("b", "0.2 0 3.7 0 0 0", LINK("l", BOX("0.5 0.5 0.5", "1"))) : "");
		command("/model/k/cmd_vel", "linear {x: 0.1 y: 0.2} angular {x: 0.5 z: -0.7}");
		steps(700);
		if (!round)
			alone = *body("k", "l");
		else
			cr_assert_arr_eq(&alone, body("k", "l"), sizeof alone);
	}
}
