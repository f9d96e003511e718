# Shared by the scripts of this folder about arms of ros2_control, which have arm.urdf in their folder.

# arms_world COUNT: a world with so many arms, in rows of five
arms_world()
{
	echo '<sdf version="1.9"><world name="w"><physics name="p" type="ode"><max_step_size>0.004</max_step_size></physics>'
	for i in $(seq 0 $(($1 - 1))); do
		echo "<include><uri>arm.urdf</uri><name>arm$i</name><pose>$((i % 5 * 3)) $((i / 5 * 3)) 0 0 0 0</pose></include>"
	done
	echo '</world></sdf>'
}
