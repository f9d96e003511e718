// Flies a vehicle of --serve px4 with MAVLink code of another project (node-mavlink): decodes all that is sent, encodes
// what PX4 sends, and compares both with each other and with what the world says.
//
//   node px4.js PORT SENSORS
const {MavLinkPacketParser, MavLinkPacketSplitter, MavLinkProtocolV2, common, minimal} = require("node-mavlink");
const net = require("net");

const [port, sensors] = process.argv.slice(2).map(Number);
const REGISTRY = {...minimal.REGISTRY, ...common.REGISTRY};
const seen = {}, last = {};
let count = 0, failed = 0, sequence = 0, bytes = 0, used = 0, armed = false;

function check(ok, what) {
	count++;
	failed += ok ? 0 : 1;
	if (!ok)
		console.log(`FAILED: ${what}`);
}

function finish() {
	const sensor = last.HilSensor, gps = last.HilGps, truth = last.HilStateQuaternion, range = last.DistanceSensor;
	const near = (is, wanted, off, what) => check(Math.abs(is - wanted) <= off, `${what} is ${is}: expected ${wanted}`);
	check(splitter.invalidPackages === 0 && splitter.unknownPackagesCount === 0, "a checksum is wrong, or a message is none of the public ones");
	check(used === bytes, `${bytes - used} bytes are in no message`);
	check(seen.HilSensor === sensors, `HIL_SENSOR came ${seen.HilSensor} times`);
	check(seen.HilStateQuaternion >= sensors / 3 && seen.HilStateQuaternion <= sensors / 2 + 1, `HIL_STATE_QUATERNION came ${seen.HilStateQuaternion} times, at an interval of 8 ms`);
	check(seen.Heartbeat >= 1 && seen.SystemTime >= 1 && seen.HilGps >= 2, JSON.stringify(seen));
	check(last.Heartbeat.autopilot === minimal.MavAutopilot.INVALID, "it is a simulator, and no autopilot");
	check(last.CommandAck.command === 511 && last.CommandAck.result === common.MavResult.ACCEPTED, "the interval is taken");
	check(sensor.timeUsec > 0n && sensor.timeUsec % 4000n === 0n, `the time is ${sensor.timeUsec}`);
	near(sensor.zacc, -9.8, 0.3, "zacc");
	near(Math.hypot(sensor.xmag, sensor.ymag, sensor.zmag), Math.hypot(0.01, 0.21, 0.43), 0.01, "the magnetic field, in gauss");
	near(sensor.absPressure, 956, 3, "abs_pressure");
	near(sensor.pressureAlt, 489, 3, "pressure_alt");
	near(gps.lat, 473977420, 100, "lat");
	near(gps.lon, 85455940, 100, "lon");
	near(gps.alt, 488000, 3000, "alt");
	check(gps.fixType === common.GpsFixType.GPS_FIX_TYPE_3D_FIX || gps.fixType === 3, `fix_type is ${gps.fixType}`);
	const [w, x, y, z] = truth.attitudeQuaternion;
	near(Math.hypot(w, x, y, z), 1, 1e-5, "the attitude's norm");
	// x looks 0.5 rad to the north of east: that is pi/2 - 0.5 from north to east
	near(Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)), Math.PI / 2 - 0.5, 0.01, "yaw");
	near(truth.zacc, -1000, 30, "zacc of the truth, in mG");
	near(range.currentDistance, 150, 2, "current_distance, of an arm that channel 0 has lifted");
	check(range.orientation === common.MavSensorOrientation.PITCH_270, "the rangefinder looks down");
	const rc = last.RcChannels;
	check(rc && rc.chan1Raw === 1500 && rc.chan2Raw === 2000 && rc.chan3Raw === 65535 && rc.chan18Raw === 65535 && rc.chancount === 2 && rc.rssi === 99, "a remote control");
	console.log(`${count - failed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
}

const socket = net.connect(port, "127.0.0.1");
const protocol = new MavLinkProtocolV2(1, 1);
const splitter = new MavLinkPacketSplitter();

function send(message) {
	socket.write(protocol.serialize(message, sequence++ % 256));
}

function answer(time) {
	const controls = new common.HilActuatorControls();
	controls.timeUsec = time;
	controls.controls = Array(16).fill(0);
	controls.controls[0] = 0.25;
	controls.mode = armed ? 128 : 0;
	controls.flags = 1n;
	armed = true;
	send(controls);
}

socket.on("connect", () => {
	answer(0n);
	const interval = new common.CommandLong();
	interval.command = 511;
	interval._param1 = common.HilStateQuaternion.MSG_ID;
	interval._param2 = 8000;
	send(interval);
});
socket.on("data", data => { bytes += data.length; });
socket.on("close", () => { check(false, "the connection was lost"); finish(); });
socket.pipe(splitter).pipe(new MavLinkPacketParser()).on("data", packet => {
	const type = REGISTRY[packet.header.msgid], name = type.name;
	used += packet.buffer.length;
	last[name] = packet.protocol.data(packet.payload, type);
	seen[name] = (seen[name] || 0) + 1;
	if (name === "HilSensor" && seen[name] === sensors)
		finish();
	else if (name === "HilSensor")
		answer(last[name].timeUsec);
});
setTimeout(() => { check(false, "nothing more came"); finish(); }, 60000).unref();
