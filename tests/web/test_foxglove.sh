#!/bin/sh
# A running world and Foxglove's own client library: it reads topics as CDR and JSON, drives a cart, calls services, sees
# topics come and go, and is slow; over TLS, too. What it does becomes commands: a recording of the run repeats it.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs "Foxglove's client library" @foxglove/ws-protocol ws @foxglove/rosmsg @foxglove/rosmsg2-serialization
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin foxglove.js

cat >w.sdf <<'END'
<sdf version="1.9"><world name="w">
  <physics name="p" type="ode"><max_step_size>0.01</max_step_size><real_time_factor>1</real_time_factor></physics>
  <model name="cart"><pose>0 0 0.25 0 0 0</pose><link name="base"><gravity>false</gravity><inertial><mass>5</mass>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <visual name="v"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></visual>
    <visual name="wedge"><geometry><mesh><uri>wedge.obj</uri><scale>2 1 1</scale></mesh></geometry></visual>
    <visual name="ell"><geometry><polyline><height>0.5</height><point>0 0</point><point>2 0</point><point>2 1</point>
      <point>1 1</point><point>1 2</point><point>0 2</point></polyline></geometry></visual>
    <sensor name="camera" type="camera"><update_rate>50</update_rate><topic>/camera</topic>
      <camera><image><width>640</width><height>480</height></image></camera></sensor></link>
    <plugin name="gz::sim::systems::VelocityControl" filename="x"/>
    <plugin name="gz::sim::systems::PosePublisher" filename="x"><publish_model_pose>true</publish_model_pose>
      <publish_link_pose>false</publish_link_pose><update_frequency>20</update_frequency></plugin></model>
</world></sdf>
END

printf '%s\n' 'v 0 0 0' 'v 1 0 0' 'v 0 1 0' 'v 0 0 1' 'f 1 3 2' 'f 1 2 4' 'f 1 4 3' 'f 2 3 4' >wedge.obj
web_start Foxglove w.sdf --foxglove 0 --record run.rec --secondaries 2 -v 1
web_node "$script" "$port" >said 2>&1
web_tell said
web_stop 'commands by Foxglove' run.rec

web_addresses foxglove Foxglove
web_node -e 'process.exit(require("child_process").spawnSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
  "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"]).status ?? 1)'
report $? 'a certificate is made'
web_start Foxglove w.sdf --foxglove 0 --foxglove-cert cert.pem --foxglove-key key.pem
grep -q 'Foxglove: wss://127.0.0.1:' err
report $? "the address is one of TLS: $(cat err)"
web_node -e '
const { Client, until } = require(process.argv[1]);
const client = new Client(`wss://127.0.0.1:${process.argv[2]}`, undefined, { ca: require("fs").readFileSync("cert.pem"),
  checkServerIdentity: () => undefined });
client.subscribe("/clock").then((list) => until(() => list && list.length > 3)).then((good) => process.exit(good ? 0 : 1));
' "${script%/*}/foxglove_client.js" "$port" >said 2>&1
report $? "a client over TLS: $(cat said err)"
kill -TERM "$run"
wait "$run"
run=
timeout 20 "$troupe" run w.sdf --foxglove 0 --foxglove-cert key.pem --foxglove-key key.pem --iterations 10 --rtf 0 >out 2>err
status=$?
[ $status -ne 0 ] && [ "$(wc -l <err)" = 1 ]
report $? "a certificate that is none: $status $(cat err)"
timeout 20 "$troupe" run w.sdf --foxglove 0 --foxglove-cert none.pem --foxglove-key key.pem --iterations 10 --rtf 0 >out 2>err
grep -qx 'troupe run: --foxglove: none.pem: cannot open: No such file or directory' err
report $? "a certificate that is missing: $(cat err)"
totals
