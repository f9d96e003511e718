#!/bin/sh
# The page of the examples (tests/examples/drive.html) drives a robot through --serve ws, in a real browser: without it the
# page, or the protocol that a page without a library needs, could be broken.
# optional commands: chromium
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_browser
page=$(cd "$SOURCE_DIR" && pwd)/tests/examples/drive.html
web_begin ws.js
cat >w.sdf <<'END'
<sdf version="1.9"><world name="w"><gravity>0 0 0</gravity>
  <physics name="p" type="ode"><max_step_size>0.001</max_step_size><real_time_factor>1</real_time_factor></physics>
  <model name="cart"><link name="l"/><plugin name="gz::sim::systems::VelocityControl" filename="x"/>
    <plugin name="gz::sim::systems::OdometryPublisher" filename="x"/></model>
</world></sdf>
END
web_start WebSocket w.sdf --serve ws=0
CHROMIUM=$(command -v chromium) web_node "$script" "$page" "$port"
