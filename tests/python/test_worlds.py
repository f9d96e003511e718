"""Worlds, commands, states, sensors and topics of the Python module. Hashes are compared with those of `troupe run`, and
numbers with formulas or with another way to the same number."""
import ctypes
import gc
import math
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time

import runner
import troupe
from runner import Skip, raises
from troupe import _topics as topics
from troupe import _values as values

try:
    import numpy
except ImportError:
    numpy = None

WORLDS = troupe.worlds_folder()
GRAVITY = 9.8

BOX = ("<link name='l'><inertial><mass>2</mass></inertial><collision name='c'><geometry><box><size>1 1 1</size></box>"
       "</geometry></collision><sensor name='imu' type='imu'><update_rate>100</update_rate></sensor></link>")
FALLING = "<sdf version='1.9'><world name='w'><model name='box'><pose>0 0 %g 0 0 0</pose>" + BOX + "</model></world></sdf>"
FLOOR = ("<model name='floor'><static>1</static><link name='l'><collision name='c'><geometry><plane/></geometry>"
         "</collision></link></model>")
LYING = ("<sdf version='1.9'><world name='w'>" + FLOOR + "<model name='box'><pose>0 0 0.5 0 0 0</pose>" + BOX +
         "</model></world></sdf>")
CARTS = ("<sdf version='1.9'><world name='w'>" + FLOOR + "".join(
    "<include><uri>models/cart</uri><name>cart_%d</name><pose>0 %d 0 0 0 0</pose></include>" % (i, 2 * i)
    for i in range(4)) + "</world></sdf>")


def close_to(found, expected, within):
    if not abs(found - expected) <= within:
        raise AssertionError("%.17g: expected %.17g to %g" % (found, expected, within))


def hash_of_run(world, steps, *options):
    """What the command prints for the same run."""
    line = subprocess.run([os.environ["TROUPE"], "run", world, "--iterations", str(steps), "--hash-every", str(steps),
                           "-v", "0", "--rtf", "0", *options], capture_output=True, text=True, timeout=100, check=True)
    return int(line.stdout.split()[-1], 16)


def give_commands(world, name):
    """The lines of a file of commands: STEP TOPIC TEXT."""
    with open(os.path.join(WORLDS, name + ".commands")) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                step, topic, text = line.split(None, 2)
                world.command(topic, text.strip(), step=int(step))


# --- steps, hashes, states ---------------------------------------------------------------------------------------------


def test_hashes_are_those_of_the_command():
    """A world by its name, with a seed and commands, has the hash of troupe run, for any number of secondaries."""
    for name, steps in (("controllers", 800), ("heap", 150)):
        commands = ["--commands", name] if name == "controllers" else []
        expected = hash_of_run(os.path.join(WORLDS, name + ".sdf"), steps, "--seed", "7", *commands)
        for secondaries in (0, 2):
            with troupe.World(name, seed=7, secondaries=secondaries) as world:
                if commands:
                    give_commands(world, name)
                world.step(steps)
                assert world.secondaries == secondaries
                assert world.hash == expected, "%s: %016x: expected %016x" % (name, world.hash, expected)


def test_the_seed_counts():
    """By ODE the heap needs iterations, which draw: another seed gives other bits. The own solver draws nothing."""
    for by_ode in (True, False):
        hashes = set()
        for seed in (1, 2):
            with troupe.World("heap", seed=seed, by_ode=by_ode) as world:
                world.step(300)
                hashes.add(world.hash)
        assert len(hashes) == (2 if by_ode else 1)


def test_one_step_at_a_time():
    """Single steps give the same bits as many at once; steps and time count them."""
    with troupe.World(text=CARTS) as alone, troupe.World(text=CARTS) as many:
        for world in (alone, many):
            world.command("/model/cart_1/cmd_vel", {"linear": {"x": 0.5}})
        for _ in range(200):
            alone.step()
        many.step(200)
        assert alone.hash == many.hash and alone.steps == many.steps == 200
        close_to(alone.time, 200 * alone.step_size, 1e-12)
        assert alone.names == ["w"]
        many.run(until=0.5)
        close_to(many.time, 0.5, 1e-9)
        many.run(steps=600)
        assert many.steps == 600


def test_a_state_goes_on_with_the_same_bits():
    """save() in memory and in a file; the worlds made of them take commands and go on like the first."""
    with troupe.World(text=CARTS, seed=3) as world:
        world.models().command_twists([[0.5, 0, 0, 0, 0, 0.3]] * 4)
        world.step(100)
        state = world.save()
        world.save("a.state")
        world.step(200)
        for saved in (state, bytearray(state), "a.state"):
            with troupe.World(state=saved, secondaries=0) as again:
                assert again.steps == 100
                again.step(200)
                assert again.hash == world.hash
        raises(troupe.Error, "damaged", troupe.World, state=state[:-8] + b"damaged!")
        raises(troupe.Error, "a.stat", troupe.World, state="a.stat")


def test_a_free_fall():
    """Pose and twist by the formulas of a fall: semi-implicit Euler falls g dt^2 k (k + 1) / 2."""
    with troupe.World(text=FALLING % 100) as world:
        box, steps, dt = world.model("box"), 300, world.step_size
        world.step(steps)
        close_to(box.pose.z, 100 - GRAVITY * dt * dt * steps * (steps + 1) / 2, 1e-9)
        close_to(box.twist.vz, -GRAVITY * dt * steps, 1e-9)
        assert box.pose.qw == 1.0 and box.exists and not box.asleep
        assert box.link("l").pose == box.pose and box.link("l").twist == box.twist
        assert world.report()["iterations"] == steps


# --- commands ----------------------------------------------------------------------------------------------------------


def test_all_forms_of_a_command_are_the_same():
    """A dict, a text, numbers, bytes, a handle and a group give the same bits."""
    def forms(world):
        cart, topic = world.model("cart_2"), "/model/cart_2/cmd_vel"
        yield lambda: world.command(topic, {"linear": {"x": 0.5}, "angular": {"z": 0.25}})
        yield lambda: world.command(topic, "linear {x: 0.5} angular {z: 0.25}")
        yield lambda: world.command(topic, [0.5, 0, 0, 0, 0, 0.25])
        yield lambda: world.command(topic, topics._binary("gz.msgs.Twist", {"linear": {"x": 0.5}, "angular": {"z": 0.25}}))
        yield lambda: cart.command_twist((0.5, 0, 0), (0, 0, 0.25))
        yield lambda: world.models(["cart_2"]).command_twists([(0.5, 0, 0, 0, 0, 0.25)])

    hashes = set()
    for i in range(6):
        with troupe.World(text=CARTS) as world:
            world.step(5)
            bound = list(forms(world))[i]()
            assert bound in (5, None), bound
            world.step(100)
            assert world.model("cart_2").twist.vx > 0.1 and abs(world.model("cart_1").twist.vx) < 1e-6
            hashes.add(world.hash)
    assert len(hashes) == 1, hashes


def test_commands_by_handle():
    """Wrench, pose, velocity and joint state have the effects that the header states."""
    with troupe.World(text=FALLING % 100) as world:
        box, dt = world.model("box"), world.step_size
        box.link("l").command_wrench(force=(10, 0, 0))
        world.step()
        close_to(box.twist.vx, 10 / 2 * dt, 1e-12)
        box.command_pose((1, 2, 30, 1, 0, 0, 0))
        box.command_velocity(linear=(0, 3, 0))
        world.step()
        close_to(box.pose.x, 1, 1e-12)
        close_to(box.pose.y, 2 + 3 * dt, 1e-12)
        assert box.command_velocity(step=20) == 20
        raises(troupe.Error, "step 1", box.command_velocity, step=1)
    with troupe.World("controllers") as world:
        name, joint = next((m["name"], j["name"]) for m in world.scene()["models"] for j in m["joints"]
                           if j["kind"] == "revolute")
        found = world.model(name).joint(joint)
        world.step()
        found.command_state(position=0.25, velocity=0)
        world.step()
        close_to(found.position, 0.25, 0.02)
        assert math.isfinite(found.velocity)


def test_odometry():
    """What dead reckoning has found is what the topic says; a model without it has none."""
    with troupe.World(text=CARTS) as world:
        cart, client = world.model("cart_0"), world.subscribe("/model/cart_0/odometry")
        cart.command_twist((0.5, 0, 0), (0, 0, 0.3))
        world.step(1000)
        found, told = cart.odometry, client.latest().dict()
        assert client.latest() is None and list(found)[:5] == ["x", "y", "yaw", "linear", "angular"]
        place, turn = told["pose"]["position"], told["pose"]["orientation"]
        for number, expected in ((found["x"], place["x"]), (found["y"], place["y"]),
                                 (found["yaw"], 2 * math.atan2(turn["z"], turn["w"])),
                                 (found["linear"], told["twist"]["linear"]["x"]),
                                 (found["angular"], told["twist"]["angular"]["z"])):
            assert abs(expected) > 0.01, "it does not move"
            close_to(number, expected, 1e-12)
        assert world.model("floor").odometry is None


def test_groups():
    """Views of a group are the numbers of its members, and follow read(); a stale member is NAN."""
    with troupe.World(text=CARTS) as world:
        carts = world.models()
        assert carts.names == ["cart_%d" % i for i in range(4)] and len(carts) == 4
        carts.commands[3, 0] = 0.5
        carts.command_twists()
        world.step(300)
        before = carts.poses[3, 0]
        assert carts.read() == 4
        for i in range(4):
            assert tuple(carts.poses.tolist()[i]) == carts[i].pose and tuple(carts.twists.tolist()[i]) == carts[i].twist
        assert carts.poses[3, 0] > before + 0.05
        joints = world.model("cart_3").joints([j["name"] for j in world.scene()["models"][3]["joints"]
                                               if j["kind"] == "revolute"])
        assert joints.states[0, 0, 0] == joints[0].position != 0 and joints.states[0, 1, 0] == joints[0].velocity
        world.command("/world/w/remove", {"name": "cart_1", "type": "MODEL"})
        world.step()
        assert carts.read() == 3 and math.isnan(carts.poses[1, 0]) and not carts[1].exists
        raises(troupe.Error, "does not exist", lambda: carts[1].pose)
        raises(ValueError, "expected 24", carts.command_twists, [[1] * 6] * 3)
        raises(ValueError, "at least one", world.models, [])


# --- numbers without a copy --------------------------------------------------------------------------------------------


def view_of(array):
    return array.view if isinstance(array, troupe.Array) else memoryview(array)


def is_part_of(array, data):
    """Whether the numbers, of numpy's or not, lie in these bytes."""
    if isinstance(array, troupe.Array):
        return array.view.obj is data
    begin = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    return begin <= array.ctypes.data and array.ctypes.data + array.nbytes <= begin + len(data)


def address(array):
    view = view_of(array)
    return ctypes.addressof((ctypes.c_char * view.nbytes).from_buffer(view))


def test_views_are_the_memory_that_the_library_writes():
    """The address of a view is the one that read() writes to; the view changes with read() alone."""
    with troupe.World(text=CARTS) as world:
        carts = world.models()
        assert address(carts.poses) == ctypes.addressof(carts._poses.at)
        assert carts.poses.shape == (4, 7) and carts.twists.shape == (4, 6) and view_of(carts.poses).format == "d"
        ctypes.memset(carts._poses.at, 0, 8)
        assert carts.poses[0, 0] == 0.0


def test_numpy_takes_views_without_a_copy():
    """The array of a view has its address, and shows what read() writes; commands come from arrays."""
    if numpy is None:
        raise Skip("no numpy")
    with troupe.World(text=CARTS) as world:
        carts = world.models()
        poses = numpy.asarray(carts.poses)
        assert poses.__array_interface__["data"][0] == ctypes.addressof(carts._poses.at)
        assert poses.shape == (4, 7) and poses.dtype == numpy.float64 and poses.base is not None
        twists = numpy.zeros((4, 6))
        twists[:, 0] = 0.5
        carts.command_twists(twists)
        world.step(300)
        before = poses.copy()
        carts.read()
        assert (poses[:, 0] > before[:, 0] + 0.05).all()
        carts.command_twists(numpy.asfortranarray(twists))
        carts.command_twists(twists.astype(numpy.float32))
        raises(ValueError, "expected 24", carts.command_twists, twists[:3])
    assert poses.sum() == poses.sum(), "the array outlives the world"


def test_indices_of_arrays():
    """poses[0], poses[0][1], poses[0, 1], slices, negative indices, assignment; the same with and without numpy."""
    found = values._numpy
    for without in (False, True):
        if without:
            values._numpy = lambda: None
        try:
            table = values._Table(3, 2, 2)
            table.at[:] = range(12)
            a = table.view
            assert isinstance(a, troupe.Array) or (numpy is not None and not without)
            assert a.shape == (3, 2, 2) and len(a) == 3 and a[1].tolist() == [[4, 5], [6, 7]] and a[-1, 1, 0] == 10
            assert a[0][1][1] == 3 and a[:, 0, 1].tolist() == [1, 5, 9] and a[1:, 1].tolist() == [[6, 7], [10, 11]]
            assert a[::2, 0, 0].tolist() == [0, 8] and [row.tolist()[0][0] for row in a] == [0, 4, 8]
            a[0] = [[1, 2], [3, 4]]
            a[1, :, 0] = 9
            a[2][0][1] = -1
            assert list(table.at) == [1, 2, 3, 4, 9, 5, 9, 7, 8, -1, 10, 11]
            raises(IndexError, "3", lambda: a[3])
            raises(IndexError, "", lambda: a[0, 0, 0, 0])
            raises(ValueError, "", a.__setitem__, 0, [1, 2, 3])
            with troupe.World(text=CARTS) as world:
                carts = world.models()
                assert tuple(carts.poses[2]) == carts[2].pose
                carts.commands[1] = [0.5, 0, 0, 0, 0, 0]
                carts.command_twists(carts.commands)
                world.step(200)
                assert carts[1].twist.vx > 0.1 > abs(carts[0].twist.vx)
        finally:
            values._numpy = found


def test_views_outlive_their_world():
    """Closed or forgotten, the world takes no memory away that a view shows."""
    world = troupe.World(text=CARTS)
    carts = world.models()
    poses, expected = carts.poses, carts.poses.tolist()
    world.close()
    del world, carts
    gc.collect()
    assert poses.tolist() == expected


def test_arrays_of_messages_are_read_only_and_stay():
    """What came cannot be written, and stays when the message, its client and the world are gone; with numpy and without
    the numbers are the same."""
    found, came = values._numpy, {}
    for without in (False, True):
        if without:
            values._numpy = lambda: None
        try:
            for name, kind in (("c", "camera"), ("d", "depth_camera")):
                with troupe.World(text=CAMERA % (name, kind), secondaries=0) as world:
                    client = world.model("m").sensor("l::" + name).subscribe("Image")
                    world.step(30)
                    message = client.latest()
                    if message is None and any("cameras" in line for line in world.warnings):
                        raise Skip("this build has no rays")
                    picture = message.array()
                    assert without or numpy is None or isinstance(picture, numpy.ndarray)
                    raises((TypeError, ValueError), "read-only", picture.__setitem__, (0, 0), 1)
                    part = picture[1:3, ::2]
                    raises((TypeError, ValueError), "read-only", part.__setitem__, (0, 0), 1)
                    expected, half = picture.tolist(), part.tolist()
                del client, message, world
                gc.collect()
                filler = [bytes(100000) for _ in range(50)]  # what would lie where freed bytes were
                assert picture.tolist() == expected and part.tolist() == half and filler
                assert came.setdefault(name, expected) == expected
        finally:
            values._numpy = found


# --- sensors and topics ------------------------------------------------------------------------------------------------


def test_an_imu():
    """At rest an IMU measures the acceleration against gravity; reading, message and dict agree."""
    with troupe.World(text=LYING) as world:
        imu = world.model("box").sensor("l::imu").hold()
        assert imu.type == "imu" and imu.rate == 100 and imu.reading is None
        client = imu.subscribe()
        world.step(500)
        reading, message = imu.reading, client.latest()
        assert reading.step == message.step and message.type == "gz.msgs.IMU"
        close_to(message.number("linear_acceleration.z"), GRAVITY, 1e-6)
        assert message.dict()["linearAcceleration"]["z"] == message.number("linear_acceleration.z")
        assert message.number("linear_acceleration.z") in reading.numbers.values()
        assert len(message.numbers("linear_acceleration.z")) == 1


def test_a_scan():
    """A lidar's ranges are a view into its message; they are within its range, or infinite."""
    with troupe.World("lidar", secondaries=0) as world:
        client = world.model("scout_0").sensor("bumper::lidar").subscribe("LaserScan")
        world.step(500)
        message = client.latest()
        if message is None and any("lidars" in line for line in world.warnings):
            raise Skip("this build has no rays")
        ranges, data = message.numbers("ranges"), message.data
        begin = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
        if numpy is not None:
            array = numpy.asarray(message.array())
            assert begin < array.__array_interface__["data"][0] < begin + len(data), "a copy"
            assert array.shape == (max(1, int(message.number("vertical_count"))), int(message.number("count")))
        assert ranges.obj is data and len(ranges) == int(message.number("count"))
        low, high = message.number("range_min"), message.number("range_max")
        hits = [r for r in ranges if math.isfinite(r)]
        assert hits and all(low <= r <= high for r in hits)
        assert message.array().tolist()[0] == ranges.tolist()


def test_readings_of_lidars_and_cameras():
    """A lidar's reading has its ranges and their angles, a camera's its picture, as they are in the messages."""
    with troupe.World(text=LIDAR, secondaries=0) as world:
        sensor = world.sensor("m::l::s")
        assert list(world.sensors()) == ["m::l::s"] and sensor.reading is None
        scans = sensor.subscribe("LaserScan")
        world.step(30)
        if any("lidars" in line for line in world.warnings):
            raise Skip("this build has no rays")
        reading, message = sensor.reading, scans.latest()
        assert reading.step <= message.step and reading.ranges.tolist() == message.array().tolist()
        assert reading.ranges.shape == (4, 6) and reading.picture is None and "range" in reading.numbers
        close_to(reading.angles[0], -0.5, 1e-12)
        close_to(reading.angles[5], 0.5, 1e-9)
        close_to(reading.vertical_angles[3], 0.3, 1e-9)
        close_to(reading.ranges[1, 2], 2.9 / math.cos(reading.angles[2]) / math.cos(reading.vertical_angles[1]), 1e-5)
        sensor.hold(False)
    for kind, pictured, deep in (("camera", True, False), ("depth_camera", False, True), ("rgbd_camera", True, True)):
        with troupe.World(text=CAMERA % ("s", kind), secondaries=0) as world:
            camera = world.sensor("m::l::s").hold()
            world.step(30)
            reading = camera.reading
            assert (reading.picture is not None) == pictured and (reading.depth is not None) == deep, kind
            if pictured:
                assert reading.picture.shape == (8, 16, 3) and len(reading.picture[0][0]) == 3
            if deep:
                assert reading.depth.shape == (8, 16)
                close_to(reading.depth[4, 8], 2.9, 1e-5)


CAMERA = ("<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><sensor name='%s' type='%s'>"
          "<update_rate>100</update_rate><camera><horizontal_fov>1</horizontal_fov><image><width>16</width>"
          "<height>8</height></image></camera></sensor></link></model><model name='wall'><static>1</static>"
          "<pose>3 0 0 0 0 0</pose><link name='l'><visual name='v'><geometry><box><size>0.2 9 9</size></box></geometry>"
          "</visual></link></model></world></sdf>")


LIDAR = ("<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'>"
         "<sensor name='s' type='gpu_lidar'><update_rate>100</update_rate><lidar><scan><horizontal><samples>6</samples>"
         "<min_angle>-0.5</min_angle><max_angle>0.5</max_angle></horizontal><vertical><samples>4</samples><min_angle>-0.3</min_angle>"
         "<max_angle>0.3</max_angle></vertical></scan><range><min>0.1</min><max>20</max></range></lidar></sensor></link></model>"
         "<model name='wall'><static>1</static><pose>3 0 0 0 0 0</pose><link name='l'><visual name='v'><geometry>"
         "<box><size>0.2 9 9</size></box></geometry></visual></link></model></world></sdf>")


def test_points():
    """The points of a lidar are as far as its ranges, in its rows and columns."""
    with troupe.World(text=LIDAR, secondaries=0) as world:
        sensor = world.model("m").sensor("l::s")
        scans, clouds = sensor.subscribe("LaserScan"), sensor.subscribe("PointCloudPacked")
        world.step(30)
        scan, cloud = scans.latest(), clouds.latest()
        if cloud is None and any("lidars" in line for line in world.warnings):
            raise Skip("this build has no rays")
        points, ranges = cloud.array(), scan.array()
        assert points.shape == (4, 6, int(cloud.number("point_step"))) and ranges.shape == (4, 6), points.shape
        for row in range(4):
            for column in range(6):
                begin = row * 6 * points.shape[2] + column * points.shape[2]
                close_to(math.hypot(*struct.unpack_from("<3f", view_of(points).cast("B"), begin)), ranges[row, column], 1e-5)


def test_firings():
    """The points of a lidar with a pattern have the ring and the time of the data sheet: a VLP-16 fires laser i after
    2.304 i us, and all of them again after 55.296 us."""
    text = LIDAR.replace("<lidar>", "<lidar><troupe:pattern>VLP-16</troupe:pattern><troupe:stamp>%s</troupe:stamp>")
    for stamp, begin in (("start", 0), ("end", -0.1)):
        with troupe.World(text=(text % stamp).replace(">100<", ">10<"), secondaries=0) as world:
            clouds = world.model("m").sensor("l::s").subscribe("PointCloudPacked")
            world.step(150)
            cloud = clouds.latest()
            if cloud is None and any("lidars" in line for line in world.warnings):
                raise Skip("this build has no rays")
            times, rings, ahead = cloud.field("time"), cloud.field("ring"), cloud.field("x")
            assert times.shape == (16, 1808), times.shape
            close_to(cloud.dict()["header"]["stamp"].get("nsec", 0) * 1e-9, -begin, 1e-9)
            for row in range(16):
                laser = 2 * row if row < 8 else 2 * row - 15
                for column in (0, 1, 904, 1807):
                    close_to(times[row, column], begin + column * 55.296e-6 + laser * 2.304e-6, 1e-8)
                    assert rings[row, column] == row
            close_to(ahead[8, 904], 2.9, 1e-3)
            try:
                cloud.field("colour")
                raise AssertionError("a field that the cloud does not have")
            except troupe.Error as error:
                assert "ring" in str(error), error


def test_returns():
    """A pane before a wall: two returns of each ray, in rows of their own, with the shares of the light."""
    text = (LIDAR.replace("<lidar>", "<lidar><troupe:returns>2</troupe:returns>").replace(
        "</world>", "<model name='pane'><static>1</static><pose>1.5 0 0 0 0 0</pose><link name='l'><visual name='v'><geometry><box>"
        "<size>0.2 9 9</size></box></geometry><transparency>0.5</transparency><laser_retro>8</laser_retro></visual></link></model></world>"))
    with troupe.World(text=text, secondaries=0) as world:
        clouds = world.model("m").sensor("l::s").subscribe("PointCloudPacked")
        world.step(30)
        cloud = clouds.latest()
        if cloud is None and any("lidars" in line for line in world.warnings):
            raise Skip("this build has no rays")
        numbers, ahead, light, rings = (cloud.field(name) for name in ("return", "x", "intensity", "ring"))
        assert numbers.shape == (8, 6), numbers.shape
        for row in range(8):
            assert numbers[row, 2] == row // 4 and rings[row, 2] == row % 4
            close_to(ahead[row, 2], 1.4 if row < 4 else 2.9, 1e-5)
            close_to(light[row, 2], 4 if row < 4 else 0, 1e-5)


SPINS = ("<sdf version='1.9'><world name='w'><model name='m'><pose>1 0.5 1 0 0 0.4</pose><link name='l'><gravity>false</gravity>"
         "<inertial><mass>1</mass></inertial><visual name='v'><pose>0 0 -0.5 0 0 0</pose><geometry><box><size>1 0.5 0.4</size>"
         "</box></geometry></visual><sensor name='s' type='gpu_lidar'><pose>0 0 0.2 0 0 2</pose><update_rate>10</update_rate>"
         "<lidar><troupe:pattern>OS0-32</troupe:pattern><troupe:motion>true</troupe:motion></lidar></sensor>"
         "<sensor name='i' type='imu'><update_rate>100</update_rate></sensor></link>"
         "<plugin filename='x' name='gz::sim::systems::VelocityControl'><initial_linear>1 0 0</initial_linear>"
         "<initial_angular>0 0 1</initial_angular></plugin></model>"
         + "".join("<model name='%s'><static>1</static><pose>%s 1 0 0 0</pose><link name='l'><visual name='v'><geometry><box>"
                   "<size>%s</size></box></geometry></visual></link></model>" % wall for wall in (
                       ("e", "10.1 0", "0.2 20.4 9"), ("w", "-10.1 0", "0.2 20.4 9"), ("n", "0 10.1", "20.4 0.2 9"),
                       ("s", "0 -10.1", "20.4 0.2 9"))) + "</world></sdf>")


def test_motion_of_a_scan_is_undone():
    """The walls of a room around a robot that turns with 1 rad/s and drives are straight to 1 cm once a program has undone
    the motion by the rate of the IMU and the speed, and are not before."""
    with troupe.World(text=SPINS, secondaries=0) as world:
        robot = world.model("m")
        clouds, imu = robot.sensor("l::s").subscribe("PointCloudPacked"), robot.sensor("l::i").hold()
        world.step(501)
        cloud = clouds.latest()
        if cloud is None and any("lidars" in line for line in world.warnings):
            raise Skip("this build has no rays")
        rate, row = imu.reading.numbers["wz"], 16
        close_to(rate, 1, 1e-3)
        x, y, times = cloud.field("x"), cloud.field("y"), cloud.field("time")
        at = cloud.dict()["header"]["stamp"]
        time_s = int(at.get("sec", 0)) + at.get("nsec", 0) * 1e-9
        yaw, speed = 0.4 + rate * time_s, 1.0
        end = (1 + speed * (math.sin(yaw) - math.sin(0.4)) / rate, 0.5 - speed * (math.cos(yaw) - math.cos(0.4)) / rate)
        worst = {}
        for undo in (True, False):
            off = 0
            for column in range(x.shape[1]):
                turn = rate * times[row, column] if undo else 0
                px = x[row, column] * math.cos(2) - y[row, column] * math.sin(2)
                py = x[row, column] * math.sin(2) + y[row, column] * math.cos(2)
                then = yaw + turn
                wx = end[0] + px * math.cos(then) - py * math.sin(then) + speed * (math.sin(then) - math.sin(yaw)) / rate
                wy = end[1] + px * math.sin(then) + py * math.cos(then) - speed * (math.cos(then) - math.cos(yaw)) / rate
                off = max(off, abs(max(abs(wx), abs(wy)) - 10))
            worst[undo] = off
        assert worst[True] < 0.01 and worst[False] > 0.2, worst


def test_pictures():
    """A picture has the shape of the camera; a depth picture has the distance of the wall."""
    for name, kind, shape in (("c", "camera", (8, 16, 3)), ("d", "depth_camera", (8, 16))):
        with troupe.World(text=CAMERA % (name, kind), secondaries=0) as world:
            client = world.model("m").sensor("l::" + name).subscribe("Image")
            world.step(30)
            message = client.latest()
            if message is None and any("cameras" in line for line in world.warnings):
                raise Skip("this build has no rays")
            picture = message.array()
            assert picture.shape == shape, picture.shape
            assert is_part_of(picture, message.data), "a copy"
            if kind == "depth_camera":
                close_to(picture[4, 8], 2.9, 0.01)


def test_topics_and_services():
    """Subscribing, calling, and refusals."""
    with troupe.World(text=CARTS) as world:
        kinds = {topic["name"]: topic for topic in world.topics()}
        assert kinds["/world/w/control"]["kind"] == "service" and kinds["/clock"]["type"] == "gz.msgs.Clock"
        clock = world.subscribe("/clock", rate=10)
        world.step(1000)
        messages = list(clock)
        assert 9 <= len(messages) <= 12, len(messages)
        assert all(abs(b.time - a.time - 0.1) < 1e-9 for a, b in zip(messages[1:], messages[2:]))
        assert messages[-1].dict()["sim"].get("nsec", 0) == round(messages[-1].time % 1 * 1e9)
        assert clock.take() is None and clock.lost == 0
        pose = {"name": "cart_0", "position": {"x": 5, "y": 5, "z": 0.2}}
        assert world.call("/world/w/set_pose", pose) == {"data": True}
        close_to(world.model("cart_0").pose.x, 5, 0.01)
        raises(troupe.Error, "nobody", world.call, "/world/w/set_pose", {"name": "nobody"})
        raises(troupe.Error, "no listener", world.call, "/world/w/none", {})
        raises(troupe.Error, "x", world.call, "/world/w/set_pose", {"x": 1})
        clock.close()
        raises(troupe.Error, "closed", clock.take)


def test_contacts():
    """A box on the floor touches it."""
    with troupe.World(text=LYING, contacts=True, sleepless=True) as world:
        world.step(100)
        contacts = world.contacts()
        assert contacts and {contacts[0].first, contacts[0].second} == {"floor::l::c", "box::l::c"}
        close_to(abs(contacts[0].normal[2]), 1, 1e-9)


# --- errors, threads, memory -------------------------------------------------------------------------------------------


def test_errors():
    """The library's line, with file and line; the status; KeyError for names."""
    why = raises(troupe.Error, "bad.sdf:3: ", troupe.World, "bad.sdf",
                 text="<sdf version='1.9'><world name='w'>\n<model name='m'><link name='l'>\n<inertial><mass>x</mass>"
                      "</inertial></link></model></world></sdf>")
    assert why.status == "EWORLD" and why.text == str(why)
    raises(troupe.Error, "none.sdf", troupe.World, "none.sdf")
    raises(troupe.Error, "no world", troupe.World)
    raises(troupe.Error, "secondaries", troupe.World, text=CARTS, secondaries=5000)
    with troupe.World(text=CARTS) as world:
        raises(KeyError, "'cart_9'", world.model, "cart_9")
        raises(KeyError, "'x'", world.model("cart_0").link, "x")
        raises(KeyError, "'x'", world.model("cart_0").joint, "x")
        raises(KeyError, "'x'", world.model("cart_0").sensor, "x")
        raises(troupe.Error, "expected", world.command, "/model/cart_0/cmd_vel", "linear {q: 1}")
        raises(troupe.Error, "no listener", world.command, "/none", {})
        raises(troupe.Error, "expected a number", world.model("cart_0").command_twist, (math.inf, 0, 0))
        raises(troupe.Error, "world 1", world.scene, 1)
        raises(ZeroDivisionError, "zero", world._look, lambda snapshot: 1 / 0)  # the library calls this function
    for call in (world.step, world.save, lambda: world.hash, world.models, world.stop, world.topics, world.client):
        raises(troupe.Error, "closed", call)
    world.close()
    assert world.closed


def test_names_that_exist_are_in_the_error():
    """The most similar names come first; the error is a KeyError and an Error of the module, and has no quotes around."""
    with troupe.World(text=CARTS) as world:
        why = raises(KeyError, "no model 'cart_9': expected 'cart_0', 'cart_1', 'cart_2', 'cart_3', 'floor'", world.model,
                     "cart_9")
        assert isinstance(why, troupe.UnknownName) and isinstance(why, troupe.Error) and str(why) == why.text
        cart = world.model("cart_0")
        raises(troupe.UnknownName, "'chassis'", cart.link, "chasis")
        raises(troupe.UnknownName, "'left_wheel_joint'", cart.joint, "left_wheel_join")
        raises(troupe.UnknownName, "none at all", cart.sensor, "imu")
        raises(troupe.UnknownName, "'/model/cart_0/odometry'", world.subscribe, "/model/cart_0/odometri")
        raises(troupe.UnknownName, "'/model/cart_0/cmd_vel'", world.command, "/model/cart_0/cmd_vle", {})
        raises(troupe.Error, "/model/cart_0/cmd_vel", world.command, "/model/cart_0/cmd_vle", "linear {x: 1}")
        raises(troupe.UnknownName, "'cart_2'", world.remove, "cart_22")
        raises(troupe.UnknownName, "'cart_2'", world.set_pose, "cart_22", (0, 0, 0))
    with troupe.World("lidar", secondaries=0) as world:
        raises(troupe.UnknownName, "'scout_0::bumper::lidar'", world.sensor, "scou_0::bumper::lidar")
        raises(troupe.UnknownName, "'bumper::lidar'", world.sensor, "scout_0::bumper::lida")


def test_a_topic_that_comes_later():
    """It is an error unless it is asked for; then its messages come when its model does."""
    with troupe.World(text=CARTS, resource_paths=WORLDS) as world:
        raises(troupe.UnknownName, "/model/late/odometry", world.subscribe, "/model/late/odometry")
        client = world.subscribe("/model/late/odometry", later=True)
        world.step(100)
        assert client.take() is None
        world.spawn("models/cart", "late", pose=(0, -5, 0))
        world.step(100)
        assert client.take().topic == "/model/late/odometry"
        slashed = world.subscribe("model/late/odometry/")
        world.step(100)
        assert slashed.take().topic == "/model/late/odometry"


def test_changes_of_the_world():
    """spawn, set_pose, set_twist, remove, reset: the effect is there after one step, or at the step that is named."""
    with troupe.World(text=CARTS, resource_paths=WORLDS) as world:
        cart = world.spawn("models/cart", "new", pose=(1, 20, 0, 0, 0, math.pi / 2))
        assert world.steps == 1 and cart.name == "new"
        close_to(cart.pose.y, 20, 1e-9)
        close_to(cart.pose.qz, math.sqrt(0.5), 1e-3)
        raises(troupe.Error, "exists already", world.spawn, "models/cart", "new")
        other = world.spawn("models/cart", "new", pose=(1, 30, 0), rename=True)
        assert other.name != "new"
        close_to(other.pose.y, 30, 1e-9)
        box = world.spawn("<sdf version='1.9'><model name='box'><pose>0 40 9 0 0 0</pose>%s</model></sdf>" % BOX)
        assert box.name == "box"
        world.set_pose(box, (1, 2, 30, 1, 0, 0, 0))
        close_to(box.pose.z, 30, 1e-3)
        world.set_twist("box", linear=(0, 3, 0), angular=(0, 0, 1))
        close_to(box.twist.vy, 3, 1e-9)
        close_to(box.twist.wz, 1, 1e-9)
        assert world.remove("new", step=50) == 50 and cart.exists
        assert world.spawn("models/cart", "fifty", step=50) == 50 == world.set_twist("box", (1, 0, 0), step=50)
        world.step(51 - world.steps)
        assert not cart.exists and world.model("fifty").exists
        close_to(box.twist.vx, 1, 1e-9)
        world.reset()
        assert not box.exists and world.model("cart_0").exists and world.steps == 52
        close_to(world.time, world.step_size, 1e-12)
        for wrong in ((1, 2), (1, 2, 3, 4), "abc"):
            raises(ValueError, "", world.set_pose, "cart_0", wrong)
        raises(troupe.Error, "world 1", world.reset, world=1)


def test_files_are_those_of_the_command():
    """An MCAP file and a log have the bytes that troupe run writes for the same run; also when a pool takes the steps."""
    options = ["--mcap", "run.mcap", "--log", "run.csv", "--log-what", "model,effort", "--log-every", "7"]
    path = os.path.join(WORLDS, "controllers.sdf")
    hash_of_run(path, 300, *options)
    hash_of_run(path, 300, "--mcap", "bag.mcap", "--mcap-names", "ros")

    def go(name, steps):
        with troupe.World(path, efforts=True, secondaries=0) as world:
            world.mcap(name + ".mcap")
            world.mcap(name + "_bag.mcap", ros=True)
            world.log(name + ".csv", "model,effort", every=7)
            steps(world)

    go("single", lambda world: world.step(300))
    go("parts", lambda world: [world.step(100), world.run(steps=200), troupe.step_many([world], 100)])
    for name in ("single", "parts"):
        for kind in (".csv", ".mcap"):
            with open(name + kind, "rb") as found, open("run" + kind, "rb") as expected:
                assert found.read() == expected.read(), name + kind
        with open(name + "_bag.mcap", "rb") as found, open("bag.mcap", "rb") as expected:
            assert found.read() == expected.read(), name
    with troupe.World(text=CARTS) as world:
        raises(troupe.Error, "World(efforts=True)", world.log, "a.csv", "effort")
        raises(troupe.Error, "no such kind", world.log, "a.csv", "speed:x")
        raises(troupe.Error, "cannot write", world.log, "no/folder/a.csv")
        raises(troupe.Error, "cannot write", world.mcap, "no/folder/a.mcap")
        world.mcap("rates.mcap", ["/clock@5", ("/model/*", 10)])
        world.step(10)


DIES = """
import os, sys, troupe
world = troupe.World(%r, record=%r)
world.log(%r)
world.step(137)
%s
"""


def test_a_recording_of_a_script_that_dies():
    """It can be replayed up to the last step; of a process that is killed, up to the last recorded state."""
    path = os.path.join(WORLDS, "controllers.sdf")
    for name, line, last in (("exception", "raise ValueError('oops')", 137), ("exit", "sys.exit(3)", 137),
                             ("killed", "os.kill(os.getpid(), 9)", 100)):
        code = DIES % (path, name + ".rec", name + ".csv", line)
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=100).returncode != 0
        done = subprocess.run([os.environ["TROUPE"], "replay", name + ".rec"], capture_output=True, text=True, timeout=100)
        text = done.stdout + done.stderr
        assert ("%d steps" % last if last == 137 else "step %d" % last) in text, text
        if last == 137:
            assert done.returncode == 0, text
            with open(name + ".csv") as log:
                assert log.read().split("\n")[-2].startswith("130,")


def test_numbers_that_c_cannot_hold():
    """ctypes would take them modulo 2^64: a step of -1 for the last one, and step(-1) for steps without end. It would
    fill a structure up with zeros, too: a linear velocity of one number would give the angular one another place."""
    raises(ValueError, "seed", troupe.World, text=CARTS, seed=-1)
    raises(ValueError, "seed", troupe.World, text=CARTS, seed=1 << 64)
    raises(ValueError, "secondaries", troupe.World, text=CARTS, secondaries=(1 << 32) + 1)
    raises(TypeError, "path", troupe.World, 5)
    with troupe.World(text=CARTS, resource_paths=WORLDS) as world:
        cart = world.model("cart_0")
        for call in (world.step, world.run, lambda n: troupe.step_many([world], n)):
            raises(ValueError, "-1", call, -1)
            raises(TypeError, "integer", call, 1.5)
        raises(ValueError, "step: -1", cart.command_twist, (1, 0, 0), step=-1)
        raises(ValueError, "1 numbers: expected 3", cart.command_twist, (0.5,), (0, 0, 1))
        raises(ValueError, "2 numbers: expected 3", cart.command_velocity, (0, 0, 0), (0, 1))
        raises(ValueError, "6 numbers: expected 7", cart.command_pose, (1, 2, 0, 0, 0, 0))
        raises(ValueError, "axis", cart.joint("left_wheel_joint").state, -1)
        raises(ValueError, "threads", troupe.Pool, -1)
        raises(TypeError, "expected a dict or bytes", world.call, "/world/w/set_pose", "name: 'cart_0'")
        client = world.subscribe("/clock")
        assert client.take(timeout=-1) is None
        assert world.steps == 0
        world.step(3)
        assert world.steps == 3


def test_numbers_that_are_not_finite():
    """JSON has none; the error names the field, as for any other number."""
    with troupe.World(text=CARTS, resource_paths=WORLDS) as world:
        for number, word in ((math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")):
            words = "position.x: %s: expected a number" % word
            raises(troupe.Error, words, world.set_pose, "cart_0", (number, 0, 0))
            raises(troupe.Error, words, world.call, "/world/w/set_pose", {"name": "cart_0", "position": {"x": number}})


def test_texts_and_worlds_that_c_would_cut():
    """C ends a text at its first zero byte, and takes a number of a world modulo 2^32: another thing would be meant."""
    raises(ValueError, "zero byte", troupe.World, text=CARTS + "\0")
    raises(TypeError, "int", troupe.World, state=5)
    with troupe.World(text=CARTS, resource_paths=WORLDS) as world:
        cart = world.model("cart_0")
        for call in (world.model, cart.link, cart.joint, cart.sensor, world.subscribe):
            raises(ValueError, "zero byte", call, "cart_0\0")
            raises(TypeError, "5: expected a text", call, 5)
        raises(ValueError, "zero byte", world.command, "/model/cart_0/cmd_vel\0", [1])
        raises(ValueError, "zero byte", world.command, "/model/cart_0/cmd_vel", "linear {x: 1}\0 angular {z: 1}")
        for call in (lambda n: world.model("cart_0", n), lambda n: world.joint("j", n), world.epoch):
            raises(ValueError, "world", call, 1 << 32)
        raises(troupe.Error, "world 1", world.epoch, 1)
        raises(TypeError, "expected a number", world.models().command_twists, "fast")


def test_numbers_of_a_model_that_is_gone():
    """None would mean that it has no odometry, and that its sensor has not measured yet."""
    with troupe.World(text=CARTS) as world:
        cart = world.model("cart_0")
        world.command("/world/w/create", {"sdf": "<sdf version='1.9'><model name='box'>%s</model></sdf>" % BOX})
        world.step()
        imu = world.model("box").sensor("l::imu").hold()
        world.step(50)
        assert cart.odometry and imu.reading
        for name in ("cart_0", "box"):
            world.command("/world/w/remove", {"name": name, "type": "MODEL"})
        world.step()
        raises(troupe.Error, "'cart_0' does not exist", lambda: cart.odometry)
        raises(troupe.Error, "'box' does not exist", lambda: imu.reading)


DAEMON = """
import threading, time, troupe
world, pool = troupe.World("warehouse"), troupe.Pool()
others = [troupe.World("warehouse", secondaries=0) for _ in range(2)]
clock = world.subscribe("/clock")
def all_steps():
    while True:
        %s
threading.Thread(target=all_steps, daemon=True).start()
while not (world.steps or others[0].steps or %d):
    time.sleep(0.01)
"""


def test_daemon_threads_at_exit():
    """A program may end while its daemon threads take steps or wait for messages: its worlds are stopped first, and the
    threads end without a word."""
    for line, waits in (("world.run()", 0), ("world.step(2)", 0), ("pool.step(others, 20)", 0),
                        ("clock.take(timeout=1e6)", 1)):
        ended = subprocess.run([sys.executable, "-c", DAEMON % (line, waits)], capture_output=True, timeout=100)
        assert ended.returncode == 0 and not ended.stderr, \
            "%s: %d: %s" % (line, ended.returncode, ended.stderr.decode()[-300:])


def test_a_recording_that_is_not_whole():
    """close() says so, and has closed the world all the same."""
    if not os.path.exists("/dev/full"):
        raise Skip("there is no /dev/full")
    world = troupe.World(text=CARTS, record="/dev/full")
    raises(troupe.Error, "/dev/full", world.close)
    assert world.closed
    world.close()


def test_a_command_that_fails_raises_after_its_step():
    """strict: the steps are taken, then the error comes once; otherwise it is in replies()."""
    for strict in (True, False):
        with troupe.World(text=CARTS, strict=strict) as world:
            world.command("/world/w/remove", {"name": "nobody", "type": "MODEL"})
            if strict:
                raises(troupe.Error, "nobody", world.step, 3)
            else:
                world.step(3)
            assert world.steps == 3
            replies = world.replies()
            assert len(replies) == 1 and not replies[0].ok and replies[0].step == 0
            world.step(3)


def test_a_diverged_world_keeps_its_last_state():
    """The error names the model, and the state before it can be read."""
    wild = "<sdf version='1.9'><world name='w'><gravity>0 0 -1000000</gravity><model name='stone'>" + BOX + "</model></world></sdf>"
    with troupe.World(text=wild) as world:
        why = raises(troupe.Error, "stone", world.step, 10000)
        assert why.status == "EDIVERGED" and math.isfinite(world.model("stone").pose.z) and world.save()
        raises(troupe.Error, "failed before", world.step)


def test_other_threads_work_while_a_world_runs():
    """The lock of the interpreter is free; stop() ends the run; other calls are refused."""
    world, refused = troupe.World(text=LYING, sleepless=True), []

    def stop_later():
        while world.steps < 2000:
            time.sleep(0.001)
        refused.append(raises(troupe.Error, "between steps", lambda: world.hash))
        raises(troupe.Error, "does not", world.close)
        world.stop()

    thread = threading.Thread(target=stop_later)
    thread.start()
    world.run(steps=1 << 40)
    thread.join()
    assert refused and world.steps >= 2000
    world.close()


def test_single_steps_are_alone():
    """While one thread takes steps one by one, another one is refused, too."""
    with troupe.World(text=LYING, sleepless=True) as world:
        refused = []

        def go():
            for _ in range(3000):
                if not refused:
                    world.step(100)

        thread = threading.Thread(target=go)
        thread.start()
        while not refused and thread.is_alive():
            try:
                world._use()  # which all calls begin with; it touches nothing
            except troupe.Error as why:
                refused.append(why)
        thread.join()
        assert refused and "between steps" in refused[0].text


def test_signals_end_a_run():
    """A handler of Python runs during run(), and its exception comes out of it."""
    def interrupt(*ignored):
        raise KeyboardInterrupt

    def interrupt_later():
        while world.steps < 500:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, interrupt)
    with troupe.World(text=LYING, sleepless=True) as world:
        thread = threading.Thread(target=interrupt_later)
        thread.start()
        raises(KeyboardInterrupt, "", world.run, steps=1 << 40)
        thread.join()
        world.step()
    signal.signal(signal.SIGINT, before)


class Interrupted(Exception):
    pass


def interrupt(call, at):
    """Raises an exception at one of the moments at which Python runs handlers of signals: when a function begins, or when
    a call has returned. It must come out of the call. False: the call has fewer such moments."""
    seen = 0

    def profile(frame, event, what):
        nonlocal seen
        if frame.f_globals.get("__name__", "").split(".")[0] == "troupe" and event in ("call", "return", "c_return"):
            seen += 1
            if seen > at:
                sys.setprofile(None)
                raise Interrupted

    sys.setprofile(profile)
    try:
        call()
    except Interrupted:
        return True
    finally:
        sys.setprofile(None)
    assert seen <= at, "what a handler raises at moment %d is lost" % at
    return False


def test_an_interrupted_step_leaves_the_world_free():
    """Whenever the signal comes, also while a command is obeyed, what its handler raises is not lost, the world can take
    its next step, and is closed. With a lock that nobody releases, the world refuses both, and the program would wait for
    ever when it ends."""
    worlds = [troupe.World(text=LYING, secondaries=0) for _ in range(2)]
    for call in (worlds[0].step, lambda: worlds[0].run(steps=worlds[0].steps + 2), lambda: troupe.step_many(worlds)):
        at = 0
        while True:
            worlds[0].command("/world/w/set_pose", {"name": "box", "position": {"z": 0.5}})
            if not interrupt(call, at):
                break
            for world in worlds:
                world.step()
            at += 1
        assert at > 3, at
    for world in worlds:
        world.close()


def test_many_worlds_at_once():
    """A pool gives the bits of single worlds, and the error of each."""
    def worlds():
        found = [troupe.World(text=CARTS, secondaries=0, seed=i) for i in range(5)]
        for i, world in enumerate(found):
            world.model("cart_0").command_twist((0.1 * i, 0, 0))
        return found

    alone, pooled = worlds(), worlds()
    for world in alone:
        world.step(200)
    with troupe.Pool(3) as pool:
        assert pool.threads == 3
        for _ in range(50):
            pool.step(pooled, 2)
    troupe.step_many(pooled, 100)
    assert [world.hash for world in alone] == [world.hash for world in pooled]
    assert len({world.hash for world in alone}) == 5
    pooled[3].command("/world/w/remove", {"name": "nobody", "type": "MODEL"})
    why = raises(troupe.Error, "world 3: ", troupe.step_many, pooled, 1)
    assert [error is None for error in why.errors] == [True, True, True, False, True]
    raises(ValueError, "twice", troupe.step_many, [pooled[0], pooled[0]])
    pooled[1].close()
    raises(troupe.Error, "closed", troupe.step_many, pooled)
    raises(troupe.Error, "closed", pool.step, [])
    pooled[0].step()


def test_nothing_leaks():
    """Worlds that are closed, or only forgotten, give back memory, threads and files."""
    def use(close):
        world = troupe.World(text=CARTS, secondaries=2)
        client, carts = world.subscribe("/clock"), world.models()
        world.step(5)
        client.latest().dict()
        state = world.save()
        carts.read()
        if close:
            world.close()
        return len(state)

    def counts():
        gc.collect()
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * resource.getpagesize(), len(os.listdir("/proc/self/fd")), \
                len(os.listdir("/proc/self/task"))

    def none_more(now, before):
        return all(found <= kept for found, kept in zip(now, before))

    for i in range(30):
        use(i % 2)
    _, files, threads = counts()
    rounds, grown = 200, []
    # what leaks grows each time; what the allocator only keeps does not
    while len(grown) < 4:
        memory = counts()[0]
        state = [use(i % 2) for i in range(rounds)][-1]
        grown.append(counts()[0] - memory)
        # a world that is not freed takes more than the bytes of its state
        if grown[-1] < rounds * state / 10:
            break
    else:
        assert False, "%s bytes, for %d worlds each" % (grown, rounds)
    # a thread that was joined may still be in /proc for a moment: now, and when they were counted first
    until = time.monotonic() + 20
    while not none_more(counts()[1:], (files, threads)) and time.monotonic() < until:
        time.sleep(0.01)
    assert none_more(counts()[1:], (files, threads)), "files and threads: %s, before %s" % (counts()[1:], (files, threads))


if __name__ == "__main__":
    runner.main(sys.modules[__name__])
