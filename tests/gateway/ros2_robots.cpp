// What Nav2, slam_toolbox and ros2_control do with the topics of many robots, each in its namespace, on eProsima's Fast
// DDS: a map server, which latches /map; for each robot a buffer of transforms that interpolates between two of them
// and refuses times beyond, a costmap of its scans in its odometry's frame, commands of velocity (every second robot's
// are stamped), and the two topics of the hardware of ros2_control.
//
//   ros2_robots DOMAIN COUNT HALF [reset | world:FILE:HALF]...
//
// Robots are /robot1 .. /robotCOUNT. Each stands in the middle of a pen of its own, whose walls stand HALF metres from
// the middle on each side. Each robot must be seen to turn as commanded, its joint to go where it should, and every
// point of its scans to lie on a wall of the map. When that is so, the next phase begins: the service /reset_simulation
// is called, or /load_world and /set_simulation_state; the time of the simulation goes back, all that was known is
// forgotten, and the same is asked again. Prints a line for each phase. With ROS2_ROBOTS_LATE in the environment the
// buffer does not interpolate, but takes the transform before: then points must lie beside the walls.
#include "ros2_dds.h"

#include <array>
#include <cmath>

static const double CELL_M = 0.1, MAP_HALF_M = 5, TURN = 2.0, ARM = 0.4, LATEST_S = 150;
static const int POINTS = 300; // that each robot must check in a phase

// --- transforms -----------------------------------------------------------------------------------------------------

struct Pose {
	std::array<double, 3> p{0, 0, 0};
	std::array<double, 4> q{0, 0, 0, 1}; // x y z w
};

static std::array<double, 3> turned(const std::array<double, 4> &q, const std::array<double, 3> &v)
{
	std::array<double, 3> t{2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]), 2 * (q[0] * v[1] - q[1] * v[0])};
	return {v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1], v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2],
		v[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0]};
}

static std::array<double, 3> at(const Pose &pose, const std::array<double, 3> &point)
{
	std::array<double, 3> v = turned(pose.q, point);
	return {pose.p[0] + v[0], pose.p[1] + v[1], pose.p[2] + v[2]};
}

static Pose between(const Pose &a, const Pose &b, double part)
{
	Pose pose;
	double dot = 0, length = 0;
	for (int i = 0; i < 4; i++)
		dot += a.q[i] * b.q[i];
	for (int i = 0; i < 3; i++)
		pose.p[i] = a.p[i] + part * (b.p[i] - a.p[i]);
	for (int i = 0; i < 4; i++) {
		pose.q[i] = a.q[i] * (1 - part) + (dot < 0 ? -part : part) * b.q[i];
		length += pose.q[i] * pose.q[i];
	}
	for (double &number : pose.q)
		number /= std::sqrt(length);
	return pose;
}

struct Frame {
	std::string parent;
	std::map<int64_t, Pose> poses; // by stamp; of a static frame one
	bool fixed = false;
};

static const bool late = getenv("ROS2_ROBOTS_LATE");

struct Buffer {
	std::map<std::string, Frame> frames;

	void take(Cdr &cdr, bool fixed);
	// The point in the frame `target` at this time; false: some transform is not known at this time (yet).
	bool point(const std::string &target, std::string source, int64_t ns, std::array<double, 3> &point) const
	{
		for (int i = 0; i < 20 && source != target; i++) {
			auto found = frames.find(source);
			if (found == frames.end() || found->second.poses.empty())
				return false;
			const auto &poses = found->second.poses;
			auto after = found->second.fixed ? poses.begin() : poses.lower_bound(ns);
			if (after == poses.end() || (!found->second.fixed && after->first != ns && after == poses.begin()))
				return false;
			if (found->second.fixed || after->first == ns)
				point = at(after->second, point);
			else {
				auto before = std::prev(after);
				double part = double(ns - before->first) / double(after->first - before->first);
				point = at(between(before->second, after->second, late ? 0 : part), point);
			}
			source = found->second.parent;
		}
		return source == target;
	}
};

static int64_t stamp(Cdr &cdr)
{
	int64_t s = get<int32_t>(cdr);
	return s * 1000000000 + get<uint32_t>(cdr);
}

void Buffer::take(Cdr &cdr, bool fixed)
{
	for (uint32_t i = get<uint32_t>(cdr); i > 0; i--) {
		int64_t ns = stamp(cdr);
		std::string parent = get<std::string>(cdr);
		Frame &frame = frames[get<std::string>(cdr)];
		Pose pose;
		for (double &number : pose.p)
			number = get<double>(cdr);
		for (double &number : pose.q)
			number = get<double>(cdr);
		frame.parent = parent;
		frame.fixed = fixed;
		frame.poses[ns] = pose;
		if (frame.poses.size() > 1000)
			frame.poses.erase(frame.poses.begin());
	}
}

// --- robots ----------------------------------------------------------------------------------------------------------

struct Scan {
	int64_t ns;
	std::string frame;
	float low, step;
	std::vector<float> ranges;
};

struct Robot {
	std::string name;
	DataReader *odom, *tf, *tf_static, *scan, *joints, *map;
	DataWriter *velocity, *joint;
	double x, y; // the middle of its pen in its odometry, as a localisation finds it
	Buffer buffer;
	std::vector<Scan> scans; // that wait for their transforms
	std::vector<int8_t> cells;
	int checked = 0, wrong = 0;
	double turned = 0, arm = 0;
	std::string what; // of the first point that was wrong

	void forget()
	{
		Buffer kept;
		for (const auto &frame : buffer.frames)
			if (frame.second.fixed)
				kept.frames.insert(frame); // latched: it does not come again
		buffer = kept;
		scans.clear(); // the map server goes on, so its map holds
		checked = wrong = 0;
		turned = arm = 0;
	}
	bool done() const { return checked >= POINTS && turned > TURN * 0.8 && std::fabs(arm - ARM) < 0.05; }
};

static bool taken(DataReader *reader, Bytes &bytes)
{
	SampleInfo info;
	while (is_ok(reader->take_next_sample(&bytes, &info)))
		if (info.valid_data)
			return true;
	return false;
}

// Calls fn with a decoder of each message that waits.
template <class F> static void each(DataReader *reader, F fn)
{
	for (Bytes bytes; taken(reader, bytes);) {
		FastBuffer buffer(bytes.data(), bytes.size());
		Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, CDR_VERSION);
		cdr.read_encapsulation();
		fn(cdr);
	}
}

template <class F> static void give(DataWriter *writer, F fn)
{
	Bytes bytes(1 << 17);
	FastBuffer buffer(bytes.data(), bytes.size());
	Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, CDR_VERSION);
	cdr.serialize_encapsulation();
	fn(cdr);
	bytes.resize(length_of(cdr));
	writer->write(&bytes);
}

static bool is_wall(const Robot &robot, double x, double y)
{
	const int side = int(2 * MAP_HALF_M / CELL_M);
	int column = int((x + MAP_HALF_M) / CELL_M), row = int((y + MAP_HALF_M) / CELL_M);
	return column >= 0 && row >= 0 && column < side && row < side && robot.cells[size_t(row * side + column)] > 50;
}

// The points of scans whose transforms are known. Each must be in an occupied cell of the map.
static void check_scans(Robot &robot)
{
	for (size_t k = 0; k < robot.scans.size();) {
		const Scan &scan = robot.scans[k];
		std::array<double, 3> origin{0, 0, 0};
		if (robot.cells.empty() || !robot.buffer.point("odom", scan.frame, scan.ns, origin)) {
			k++;
			continue;
		}
		for (size_t i = 0; i < scan.ranges.size(); i++) {
			double angle = double(scan.low) + double(i) * double(scan.step), range = double(scan.ranges[i]);
			std::array<double, 3> point{range * std::cos(angle), range * std::sin(angle), 0};
			if (!std::isfinite(range) || !robot.buffer.point("odom", scan.frame, scan.ns, point))
				continue;
			robot.checked++;
			if (is_wall(robot, point[0] - robot.x, point[1] - robot.y))
				continue;
			if (!robot.wrong++)
				robot.what = robot.name + ": at " + std::to_string(scan.ns) + ": " + std::to_string(point[0] - robot.x) +
					     " " + std::to_string(point[1] - robot.y);
		}
		robot.scans.erase(robot.scans.begin() + long(k));
	}
	if (robot.scans.size() > 100)
		robot.scans.erase(robot.scans.begin());
}

static void read_robot(Robot &robot)
{
	each(robot.map, [&](Cdr &cdr) {
		(void)stamp(cdr);
		(void)get<std::string>(cdr);
		(void)stamp(cdr);
		(void)get<float>(cdr), (void)get<uint32_t>(cdr), (void)get<uint32_t>(cdr);
		for (int i = 0; i < 7; i++)
			(void)get<double>(cdr);
		robot.cells = get<std::vector<int8_t>>(cdr);
	});
	each(robot.tf_static, [&](Cdr &cdr) { robot.buffer.take(cdr, true); });
	each(robot.tf, [&](Cdr &cdr) { robot.buffer.take(cdr, false); });
	each(robot.scan, [&](Cdr &cdr) {
		Scan scan;
		scan.ns = stamp(cdr);
		scan.frame = get<std::string>(cdr);
		scan.low = get<float>(cdr);
		(void)get<float>(cdr);
		scan.step = get<float>(cdr);
		for (int i = 0; i < 4; i++)
			(void)get<float>(cdr);
		scan.ranges = get<std::vector<float>>(cdr);
		robot.scans.push_back(scan);
	});
	each(robot.odom, [&](Cdr &cdr) { // its twist, which is the last of it
		(void)stamp(cdr);
		(void)get<std::string>(cdr), (void)get<std::string>(cdr);
		for (int i = 0; i < 7 + 36 + 5; i++)
			(void)get<double>(cdr);
		robot.turned = get<double>(cdr);
	});
	each(robot.joints, [&](Cdr &cdr) {
		(void)stamp(cdr);
		(void)get<std::string>(cdr);
		std::vector<std::string> names = get<std::vector<std::string>>(cdr);
		std::vector<double> places = get<std::vector<double>>(cdr);
		for (size_t i = 0; i < names.size() && i < places.size(); i++)
			if (names[i] == "arm")
				robot.arm = places[i];
	});
	check_scans(robot);
}

static void command(Robot &robot, int64_t now_ns, bool stamped)
{
	give(robot.velocity, [&](Cdr &cdr) {
		if (stamped)
			cdr << int32_t(now_ns / 1000000000) << uint32_t(now_ns % 1000000000) << std::string("base_link");
		cdr << 0.0 << 0.0 << 0.0 << 0.0 << 0.0 << TURN;
	});
	give(robot.joint, [&](Cdr &cdr) {
		cdr << int32_t{0} << uint32_t{0} << std::string() << std::vector<std::string>{"arm"} << std::vector<double>{ARM}
		    << std::vector<double>{} << std::vector<double>{};
	});
}

static void serve_map(DataWriter *writer, double half)
{
	const int side = int(2 * MAP_HALF_M / CELL_M);
	std::vector<int8_t> cells(size_t(side * side), 0);
	for (int row = 0; row < side; row++)
		for (int column = 0; column < side; column++) {
			double x = std::fabs((column + 0.5) * CELL_M - MAP_HALF_M), y = std::fabs((row + 0.5) * CELL_M - MAP_HALF_M);
			if (std::fabs(std::max(x, y) - half) < CELL_M) // a cell on each side of the wall's face
				cells[size_t(row * side + column)] = 100;
		}
	give(writer, [&](Cdr &cdr) {
		cdr << int32_t{0} << uint32_t{0} << std::string("map") << int32_t{0} << uint32_t{0} << float(CELL_M);
		cdr << uint32_t(side) << uint32_t(side) << -MAP_HALF_M << -MAP_HALF_M << 0.0 << 0.0 << 0.0 << 0.0 << 1.0 << cells;
	});
}

// --- the whole -------------------------------------------------------------------------------------------------------

struct Node {
	DomainParticipant *participant;
	Publisher *publisher;
	Subscriber *subscriber;
	std::vector<std::unique_ptr<TypeSupport>> supports;

	Topic *topic(std::string name, const std::string &type)
	{
		name = name[0] == '/' ? "rt" + name : name;
		supports.emplace_back(new TypeSupport(new AnyType(dds_type(type))));
		supports.back()->register_type(participant);
		auto *found = participant->lookup_topicdescription(name);
		return found ? dynamic_cast<Topic *>(found) : participant->create_topic(name, dds_type(type), TOPIC_QOS_DEFAULT);
	}
	DataReader *read(const std::string &name, const std::string &type, bool reliable = true, bool latched = false,
			 const std::string &data = "")
	{
		DataReaderQos qos = DATAREADER_QOS_DEFAULT;
		qos.reliability().kind = reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
		qos.durability().kind = latched ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
		qos.history().depth = 100;
		qos.user_data().assign(data.begin(), data.end());
		qos.endpoint().history_memory_policy = rtps::DYNAMIC_RESERVE_MEMORY_MODE;
		return subscriber->create_datareader(topic(name, type), qos);
	}
	DataWriter *write(const std::string &name, const std::string &type, bool latched = false, const std::string &data = "")
	{
		DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
		qos.durability().kind = latched ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
		qos.history().depth = 10;
		qos.user_data().assign(data.begin(), data.end());
		qos.endpoint().history_memory_policy = rtps::DYNAMIC_RESERVE_MEMORY_MODE;
		return publisher->create_datawriter(topic(name, type), qos);
	}
};

// A client of a service, in the form of rmw_cyclonedds_cpp. Its replies say nothing that is not seen, too.
struct Service {
	DataWriter *writer;
	DataReader *reader;
	int64_t number = 0;

	Service(Node &node, const std::string &name, const std::string &type)
	{
		const std::string id = "clientid=" + name + ";";
		writer = node.write("rq/" + name + "Request", "simulation_interfaces/srv/" + type + "_Request", false, id);
		reader = node.read("rr/" + name + "Reply", "simulation_interfaces/srv/" + type + "_Response", true, false, id);
	}
	template <class F> void call(F fn)
	{
		give(writer, [&](Cdr &cdr) {
			cdr << uint64_t{0xdeadbeef} << ++number;
			fn(cdr);
		});
	}
};

static void begin_robot(Node &node, Robot &robot, int number)
{
	robot.name = "/robot" + std::to_string(number);
	robot.x = 12 * (number % 5); // as the script places them
	robot.y = 12 * (number / 5);
	robot.odom = node.read(robot.name + "/odom", "nav_msgs/Odometry");
	robot.tf = node.read(robot.name + "/tf", "tf2_msgs/TFMessage");
	robot.tf_static = node.read(robot.name + "/tf_static", "tf2_msgs/TFMessage", true, true);
	robot.scan = node.read(robot.name + "/scan", "sensor_msgs/LaserScan", false);
	robot.joints = node.read(robot.name + "/robot_joint_states", "sensor_msgs/JointState");
	robot.map = node.read("/map", "nav_msgs/OccupancyGrid", true, true);
	robot.velocity = node.write(robot.name + "/cmd_vel", number % 2 ? "geometry_msgs/Twist" : "geometry_msgs/TwistStamped");
	robot.joint = node.write(robot.name + "/robot_joint_command", "sensor_msgs/JointState");
}

static bool all_done(const std::vector<Robot> &robots)
{
	for (const Robot &robot : robots)
		if (!robot.done())
			return false;
	return true;
}

static int report(const std::vector<Robot> &robots, int phase, bool all)
{
	int checked = 0, wrong = 0, done = 0;
	std::string first;
	for (const Robot &robot : robots) {
		checked += robot.checked;
		wrong += robot.wrong;
		done += robot.done();
		if (robot.wrong && first.empty())
			first = robot.what;
		if (!robot.done() && all)
			printf("%s: %d points, turns %.3f, arm %.3f, %zu scans wait\n", robot.name.c_str(), robot.checked, robot.turned,
			       robot.arm, robot.scans.size());
	}
	printf("phase %d: %d robots, %s points, %d beside a wall %s\n", phase, done, checked >= POINTS * done ? "enough" : "few",
	       wrong, first.c_str());
	fflush(stdout);
	return wrong;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	Node node{};
	node.participant = DomainParticipantFactory::get_instance()->create_participant(
		static_cast<uint32_t>(atoi(argv[1])), PARTICIPANT_QOS_DEFAULT);
	if (!node.participant)
		return 2;
	node.publisher = node.participant->create_publisher(PUBLISHER_QOS_DEFAULT);
	node.subscriber = node.participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
	DataReader *clock = node.read("/clock", "rosgraph_msgs/Clock", false);
	DataWriter *map = node.write("/map", "nav_msgs/OccupancyGrid", true);
	std::vector<Robot> robots(static_cast<size_t>(atoi(argv[2])));
	for (size_t i = 0; i < robots.size(); i++)
		begin_robot(node, robots[i], static_cast<int>(i) + 1);
	Service reset(node, "reset_simulation", "ResetSimulation"), load(node, "load_world", "LoadWorld"),
		play(node, "set_simulation_state", "SetSimulationState");
	int phase = 0, phases = argc - 3, wrong = 0;
	int64_t now_ns = 0;
	enum { LOOKS, CHANGES, ENDS } state = LOOKS;
	serve_map(map, atof(argv[3]));
	auto begin = std::chrono::steady_clock::now();
	double next_s = 0;
	for (double s = 0; s < LATEST_S && state != ENDS;) {
		s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
		bool back = false;
		each(clock, [&](Cdr &cdr) {
			int64_t ns = stamp(cdr);
			back |= ns < now_ns;
			now_ns = ns;
		});
		Words change = phase + 1 < phases ? split(argv[4 + phase], ':') : Words{};
		if (back && state == CHANGES) {
			phase++;
			state = LOOKS;
			for (Robot &robot : robots) {
				robot.forget();
				if (change.size() > 2)
					robot.cells.clear();
			}
			if (change.size() > 2)
				serve_map(map, atof(change[2].c_str()));
		}
		for (size_t i = 0; i < robots.size(); i++) {
			read_robot(robots[i]);
			if (s >= next_s)
				command(robots[i], now_ns, i % 2);
		}
		if (s >= next_s) {
			next_s = s + 0.2;
			play.call([](Cdr &cdr) { cdr << uint8_t{1}; }); // the new world is stopped
		}
		if (state == LOOKS && all_done(robots)) {
			wrong += report(robots, phase, false);
			state = phase + 1 < phases ? CHANGES : ENDS;
			if (state == CHANGES && change[0] == "reset")
				reset.call([](Cdr &cdr) { cdr << uint8_t{0}; });
			else if (state == CHANGES)
				load.call([&](Cdr &cdr) { cdr << change[1] << std::string() << false << false; });
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	if (state != ENDS)
		wrong += 1 + report(robots, phase, true);
	node.participant->delete_contained_entities();
	DomainParticipantFactory::get_instance()->delete_participant(node.participant);
	return wrong > 0;
}
