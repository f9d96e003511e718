#!/usr/bin/env python3
"""Makes worlds of planners' benchmarks, and lets robots follow a plan in them with real motion.

usage: planned.py make [--scen FILE] [--paths FILE] [--agents N] [--cell M] [--tick S] MAP OUT
       planned.py run [--secondaries N] [--more S] OUT

make    writes the world OUT.sdf and, with --paths or for an input with paths, the plan OUT.plan: rows
        "robot,time,x,y,yaw", in s, m and rad; the yaw of a robot grows on and on.
  MAP       a .map of the movingai benchmark, or a .json of the League of Robot Runners, which names a map, agents and
            tasks, in files beside it
  --scen    a .scen of the movingai benchmark: starts and goals
  --paths   what a planner wrote: the .json of the League ("start" and "actualPaths": F, R, C, W), or lines
            "Agent 0: (row,column)->(row,column)->..." with a cell for each tick
  --agents  at most so many (default: all)
  --cell    the width of a cell in m (default 1.2)
  --tick    the time of one move in s (default 2)
run     drives all robots along OUT.plan, in lockstep, and prints a report as JSON: how late each planned place was
        reached, and which robots came too near each other, in the plan and in motion. Needs the module troupe.
  --more    seconds after the end of the plan, in which late robots may arrive (default 10)

Column and row of a map are x and -y of the world, in cells.
"""
import argparse
import json
import math
import os
import re
import sys

BLOCKED, FREE = "@OTW", ".GS"
BYTES_MAX, CELLS_MAX, AGENTS_MAX, MOVES_MAX = 256 << 20, 16 << 20, 100000, 50000000
TILE = 8  # cells: the width of a level
WALL = 1.0  # m: the height of what is blocked
HEADINGS = {"E": 0, "S": 1, "W": 2, "N": 3}  # quarters of a turn, clockwise
STEPS = [(0, 1), (1, 0), (0, -1), (-1, 0)]  # (row, column)

CONTROL_S = 0.04
SPEED_MAX, TURN_MAX, TURN_GAIN, SLOW_GAIN = 1.6, 2.0, 3.0, 2.5  # m/s, rad/s, 1/s, 1/s
TURN_FIRST_RAD, STOP_M = 0.35, 0.05
REACHED_M, REACHED_RAD = 0.1, 0.2  # of a planned place
NEAR_M = 0.82  # of two robots' centres: a cart is 0.8 x 0.5 m


class Bad(Exception):
    """One line: file:line, what is wrong, what was expected."""


def lines_of(path):
    try:
        if os.path.getsize(path) > BYTES_MAX:
            raise Bad("%s: more than %d bytes" % (path, BYTES_MAX))
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError as error:
        raise Bad("%s: %s" % (path, error.strerror)) from None


def json_of(path):
    try:
        found = json.loads("\n".join(lines_of(path)))
    except ValueError as error:
        raise Bad("%s: no JSON: %s" % (path, error)) from None
    if not isinstance(found, dict):
        raise Bad("%s: expected a JSON object" % path)
    return found


def number(text, path, line, low, high):
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise Bad("%s:%d: '%s': expected a number from %d to %d" % (path, line, text.strip()[:40], low, high))
    return value


# --- what planners' benchmarks have -----------------------------------------------------------------------------------

def read_map(path):
    """The rows of a map of movingai's format."""
    lines = lines_of(path)
    size = {}
    for i, line in enumerate(lines[:3], 1):
        words = line.split()
        if len(words) == 2 and words[0] in ("height", "width"):
            size[words[0]] = number(words[1], path, i, 1, CELLS_MAX)
    if len(size) != 2 or len(lines) < 4 or lines[3].strip() != "map" or size["height"] * size["width"] > CELLS_MAX:
        raise Bad("%s:1: expected 'type octile', 'height H', 'width W' and 'map', of at most %d cells" %
                  (path, CELLS_MAX))
    rows = lines[4:4 + size["height"]]
    if len(rows) < size["height"]:
        raise Bad("%s:%d: the map ends: expected %d rows" % (path, len(lines), size["height"]))
    for i, row in enumerate(rows, 5):
        if len(row) != size["width"] or row.strip(BLOCKED + FREE):
            raise Bad("%s:%d: expected %d cells of '%s%s'" % (path, i, size["width"], FREE, BLOCKED))
    return rows


def check_free(rows, row, column, path, line):
    if not (0 <= row < len(rows) and 0 <= column < len(rows[0])) or rows[row][column] in BLOCKED:
        raise Bad("%s:%d: row %d, column %d: expected a free cell of the map" % (path, line, row, column))
    return row, column


def read_scen(path, rows):
    """The start of each agent."""
    lines, starts = lines_of(path), []
    if not lines or not lines[0].startswith("version"):
        raise Bad("%s:1: expected 'version'" % path)
    for i, line in enumerate(lines[1:AGENTS_MAX + 1], 2):
        words = line.split()
        if len(words) < 9:
            raise Bad("%s:%d: expected bucket, map, width, height, start x and y, goal x and y, length" % (path, i))
        x, y, gx, gy = (number(word, path, i, 0, CELLS_MAX) for word in words[4:8])
        check_free(rows, gy, gx, path, i)
        starts.append((*check_free(rows, y, x, path, i), 0))
    return starts


def read_cells(path, rows, most):
    """The League's list of cells: how many, then a number for each; lines that begin with '#' are comments."""
    lines = [(i, line) for i, line in enumerate(lines_of(path), 1) if line.strip() and not line.startswith("#")]
    count = number(lines[0][1], path, lines[0][0], 0, most) if lines else 0
    if len(lines) < count + 1:
        raise Bad("%s:%d: expected %d cells" % (path, lines[-1][0] if lines else 1, count))
    width = len(rows[0])
    for i, line in lines[1:count + 1]:
        for word in line.split(","):
            cell = number(word, path, i, 0, len(rows) * width - 1)
            yield check_free(rows, cell // width, cell % width, path, i)


def read_league(path):
    """The map, and the start of each agent."""
    found, folder = json_of(path), os.path.dirname(path)
    for name in ("mapFile", "agentFile"):
        if not isinstance(found.get(name), str):
            raise Bad("%s: expected \"%s\": the name of a file" % (path, name))
    rows = read_map(os.path.join(folder, found["mapFile"]))
    starts = [(r, c, 0) for r, c in read_cells(os.path.join(folder, found["agentFile"]), rows, AGENTS_MAX)]
    if isinstance(found.get("taskFile"), str):
        for _ in read_cells(os.path.join(folder, found["taskFile"]), rows, CELLS_MAX):
            pass
    size = found.get("teamSize", len(starts))
    if not isinstance(size, int) or not 0 <= size <= len(starts):
        raise Bad("%s: \"teamSize\": expected a number up to %d, the number of agents" % (path, len(starts)))
    return rows, starts[:size]


def walk_actions(path, agent, place, actions, rows):
    """The places of an agent of the League, one for each tick: row, column, quarters of a turn."""
    row, column, turn = place
    places = [place]
    for action in filter(None, actions.split(",")):
        if action == "F":
            dr, dc = STEPS[turn % 4]
            row, column = check_free(rows, row + dr, column + dc, "%s: agent %d" % (path, agent), len(places))
        elif action in "RC" and len(action) == 1:
            turn += 1 if action == "R" else -1
        elif action not in ("W", "T", "NA"):
            raise Bad("%s: agent %d: action '%s': expected F, R, C or W" % (path, agent, action[:20]))
        places.append((row, column, turn))
    return places


def read_league_paths(path, rows):
    found = json_of(path)
    starts, actions = found.get("start"), found.get("actualPaths")
    if not isinstance(starts, list) or not isinstance(actions, list) or len(starts) != len(actions):
        raise Bad("%s: expected \"start\" and \"actualPaths\", as long as each other" % path)
    paths = []
    for i, (start, text) in enumerate(zip(starts[:AGENTS_MAX], actions)):
        if not (isinstance(start, list) and len(start) == 3 and start[2] in HEADINGS and isinstance(text, str) and
                all(isinstance(n, int) for n in start[:2])):
            raise Bad("%s: agent %d: expected a start [row, column, \"E\"] and a text of actions" % (path, i))
        row, column = check_free(rows, start[0], start[1], path, 1)
        paths.append(walk_actions(path, i, (row, column, HEADINGS[start[2]]), text, rows))
    return paths


def read_cell_paths(path, rows):
    paths = []
    for i, line in enumerate(lines_of(path), 1):
        match = re.match(r"\s*Agent\s+(\d+)\s*:(.*)", line, re.IGNORECASE)
        if not match:
            continue
        if int(match.group(1)) != len(paths) or len(paths) >= AGENTS_MAX:
            raise Bad("%s:%d: expected agent %d" % (path, i, len(paths)))
        cells = [check_free(rows, int(r), int(c), path, i) for r, c in re.findall(r"\((\d{1,8}),\s*(\d{1,8})\)", line)]
        if not cells:
            raise Bad("%s:%d: expected cells: (row,column)->(row,column)" % (path, i))
        paths.append(with_headings(cells, path, i))
    if not paths:
        raise Bad("%s:1: no paths: expected lines 'Agent 0: (row,column)->...'" % path)
    return paths


def with_headings(cells, path, line):
    """Each robot looks along its next move; a quarter of a turn is never more than needed."""
    turn, places = 0, []
    for k, cell in enumerate(cells):
        move = next(((b[0] - a[0], b[1] - a[1]) for a, b in zip(cells[k:k + 1], cells[k + 1:k + 2]) if a != b), None)
        if move:
            if move not in STEPS:
                raise Bad("%s:%d: from %s to %s: expected a neighbouring cell" % (path, line, cell, cells[k + 1]))
            turn += (STEPS.index(move) - turn + 1) % 4 - 1
        places.append((*cell, turn))
    return places


# --- the world and the plan -------------------------------------------------------------------------------------------

def blocked_runs(rows, first_row, first_column):
    """Boxes of blocked cells in a tile: row, column, length."""
    for r in range(first_row, min(first_row + TILE, len(rows))):
        c, end = first_column, min(first_column + TILE, len(rows[0]))
        while c < end:
            begin = c
            while c < end and rows[r][c] in BLOCKED:
                c += 1
            if c > begin:
                yield r, begin, c - begin
            c += 1


def write_sdf(path, rows, starts, cell):
    from importlib.machinery import SourceFileLoader
    here = os.path.dirname(os.path.abspath(__file__))
    generate = SourceFileLoader("generate", os.path.join(here, "generate")).load_module()
    models, performers, levels = [], [], []
    for r in range(0, len(rows), TILE):
        for c in range(0, len(rows[0]), TILE):
            refs = []
            for row, column, length in blocked_runs(rows, r, c):
                refs.append("wall_%d_%d" % (row, column))
                models.append(generate.box(refs[-1], True, (length * cell, cell, WALL),
                                           ((column + (length - 1) / 2) * cell, -row * cell, WALL / 2)))
            low, high = ((c - 0.5) * cell, (0.5 - r - TILE) * cell, -1), ((c + TILE - 0.5) * cell, (0.5 - r) * cell, 3)
            levels.append(generate.level("tile_%d_%d" % (r // TILE, c // TILE), low, high, 0.5, refs))
    for i, (row, column, turn) in enumerate(starts):
        yaw = math.remainder(-turn * math.pi / 2, math.tau)
        models.append(generate.cart("robot_%d" % i, column * cell, -row * cell, yaw))
        performers.append(generate.PERFORMER.format(name="robot_%d" % i))
    generate.write_world(path, "%d agents on a map of %d x %d cells." % (len(starts), len(rows), len(rows[0])),
                         "planned", "planned", models, performers + levels, 4)


def write_plan(path, paths, cell, tick):
    with open(path + ".plan", "w") as out:
        out.write("robot,time,x,y,yaw\n")
        for i, places in enumerate(paths):
            for k, (row, column, turn) in enumerate(places):
                if k in (0, len(places) - 1) or not places[k - 1] == places[k] == places[k + 1]:
                    out.write("robot_%d,%.3f,%.3f,%.3f,%.4f\n" %
                              (i, k * tick, column * cell, -row * cell, -turn * math.pi / 2))


def make(args):
    if args.map.endswith(".json"):
        rows, starts = read_league(args.map)
    else:
        rows, starts = read_map(args.map), []
    if args.scen:
        starts = read_scen(args.scen, rows)
    paths = []
    if args.paths:
        paths = (read_league_paths if args.paths.endswith(".json") else read_cell_paths)(args.paths, rows)
        if sum(map(len, paths)) > MOVES_MAX:
            raise Bad("%s: more than %d moves" % (args.paths, MOVES_MAX))
        starts = [places[0] for places in paths]
    if args.agents is not None:
        starts, paths = starts[:args.agents], paths[:args.agents]
    if len(set((r, c) for r, c, _ in starts)) < len(starts):
        raise Bad("%s: two agents begin in one cell" % (args.paths or args.scen or args.map))
    write_sdf(args.out, rows, starts, args.cell)
    if paths:
        write_plan(args.out, paths, args.cell, args.tick)


# --- following it -----------------------------------------------------------------------------------------------------

def read_plan(path):
    """The rows of each robot: time, x, y, yaw."""
    plan = []
    for i, line in enumerate(lines_of(path)[1:], 2):
        match = re.fullmatch(r"robot_(\d{1,6}),([^,]+),([^,]+),([^,]+),([^,]+)", line)
        try:
            robot, row = int(match.group(1)), tuple(map(float, match.groups()[1:]))
        except (AttributeError, ValueError):
            raise Bad("%s:%d: expected robot_N,time,x,y,yaw" % (path, i)) from None
        if robot == len(plan):
            plan.append([])
        if robot != len(plan) - 1 or not all(map(math.isfinite, row)) or (plan[-1] and row[0] <= plan[-1][-1][0]):
            raise Bad("%s:%d: expected the robots one after the other, and rows in the order of time" % (path, i))
        plan[-1].append(row)
    if not plan:
        raise Bad("%s:1: no rows" % path)
    return plan


def between(low, value, high):
    return max(low, min(high, value))


def place_at(rows, now, at):
    """Where the plan has a robot at this time: x and y; at: a list with the row that was the last one before."""
    while at[0] + 2 < len(rows) and rows[at[0] + 1][0] <= now:
        at[0] += 1
    a, b = rows[at[0]], rows[min(at[0] + 1, len(rows) - 1)]
    part = between(0.0, (now - a[0]) / (b[0] - a[0]), 1.0) if b[0] > a[0] else 0.0
    return a[1] + part * (b[1] - a[1]), a[2] + part * (b[2] - a[2])


class Driver:
    """Drives a robot to its planned places, one after the other: it turns to the next one, drives there so that it
    comes in time, or as fast as it can, turns as planned, and waits until its time. A place is reached when the robot
    is there, and turned so, and its time has come."""

    def __init__(self, rows):
        self.rows, self.next, self.late = rows, 0, []

    def look(self, now, x, y, yaw):
        while self.next < len(self.rows):
            at, wx, wy, wyaw = self.rows[self.next]
            if now < at - 1e-9 or math.hypot(wx - x, wy - y) > REACHED_M or abs(
                    math.remainder(wyaw - yaw, math.tau)) > REACHED_RAD:
                break
            self.late.append(now - at)
            self.next += 1

    def command(self, now, x, y, yaw):
        """Speed ahead and rate of turn."""
        at, wx, wy, wyaw = self.rows[min(self.next, len(self.rows) - 1)]
        away = math.hypot(wx - x, wy - y)
        if away < STOP_M:
            return 0.0, between(-TURN_MAX, TURN_GAIN * math.remainder(wyaw - yaw, math.tau), TURN_MAX)
        off = math.remainder(math.atan2(wy - y, wx - x) - yaw, math.tau)
        turn = between(-TURN_MAX, TURN_GAIN * off, TURN_MAX)
        if abs(off) > TURN_FIRST_RAD:
            return 0.0, turn
        return min(SPEED_MAX, away / max(at - now, 1e-3), SLOW_GAIN * away), turn

    def has_arrived(self):
        return self.next == len(self.rows)


class Conflicts:
    """Pairs of robots that come nearer than NEAR_M, each time that they do."""

    def __init__(self):
        self.now, self.count, self.pairs = set(), 0, set()

    def look(self, places):
        cells, found = {}, set()
        for i, (x, y) in enumerate(places):
            at = (math.floor(x / NEAR_M), math.floor(y / NEAR_M))
            for dx in (-1, 0, 1):
                for dy in (-1, 0, 1):
                    for j in cells.get((at[0] + dx, at[1] + dy), ()):
                        if math.hypot(x - places[j][0], y - places[j][1]) < NEAR_M:
                            found.add((j, i))
            cells.setdefault(at, []).append(i)
        self.count += len(found - self.now)
        self.pairs |= found
        self.now = found


def follow_plan(world, plan, more_s):
    robots = world.models(["robot_%d" % i for i in range(len(plan))])
    drivers, rows = [Driver(rows) for rows in plan], [[0] for _ in plan]
    in_plan, in_motion = Conflicts(), Conflicts()
    end = max(rows[-1][0] for rows in plan)
    period = max(1, round(CONTROL_S / world.step_size))
    while world.time < end + more_s and not all(driver.has_arrived() for driver in drivers):
        robots.read()
        places = []
        for i, (x, y, _, qw, _, _, qz) in enumerate(robots.poses.tolist()):
            yaw = 2 * math.atan2(qz, qw)
            drivers[i].look(world.time, x, y, yaw)
            ahead, turn = drivers[i].command(world.time, x, y, yaw)
            robots.commands[i] = (ahead, 0, 0, 0, 0, turn)
            places.append((x, y))
        in_motion.look(places)
        if world.time <= end:
            in_plan.look([place_at(plan[i], world.time, rows[i]) for i in range(len(plan))])
        robots.command_twists()
        world.step(period)
    return report_of(world, plan, drivers, in_plan, in_motion)


def report_of(world, plan, drivers, in_plan, in_motion):
    reached = sorted(s for driver in drivers for s in driver.late)
    rows = sum(map(len, plan))
    return {"robots": len(plan), "seconds": round(world.time, 3), "steps": world.steps, "hash": "%016x" % world.hash,
            "planned_places": rows, "places_not_reached": rows - len(reached),
            "robots_not_arrived": sum(not driver.has_arrived() for driver in drivers),
            "late_s": {"mean": round(sum(reached) / len(reached), 3) if reached else None,
                       "median": round(reached[len(reached) // 2], 3) if reached else None,
                       "most": round(reached[-1], 3) if reached else None},
            "conflicts_in_plan": in_plan.count, "conflicts_in_motion": in_motion.count,
            "pairs_in_motion": sorted(in_motion.pairs)[:100]}


def run(args):
    import troupe
    plan = read_plan(args.out + ".plan")
    here = os.path.dirname(os.path.abspath(__file__))
    with troupe.World(args.out + ".sdf", secondaries=args.secondaries, resource_paths=[here]) as world:
        print(json.dumps(follow_plan(world, plan, args.more), indent=2))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("map")
    making.add_argument("--scen")
    making.add_argument("--paths")
    making.add_argument("--agents", type=int)
    making.add_argument("--cell", type=float, default=1.2)
    making.add_argument("--tick", type=float, default=2.0)
    running = commands.add_parser("run")
    running.add_argument("--secondaries", type=int)
    running.add_argument("--more", type=float, default=10.0)
    for each in (making, running):
        each.add_argument("out")
    args = parser.parse_args()
    if args.command == "make" and not (0.9 <= args.cell <= 100 and 0.1 <= args.tick <= 100 and (args.agents or 0) >= 0):
        parser.error("a cell from 0.9 to 100 m, a tick from 0.1 to 100 s and a number of agents are expected")
    try:
        (make if args.command == "make" else run)(args)
    except Bad as error:
        sys.exit("planned.py: %s" % error)


if __name__ == "__main__":
    main()
