"""Plans the traffic of a warehouse: where each cart drives, which cart waits for which, and the commands that make it so.

Problem: the carts have no sensors and nobody steers them while the world runs. Commands that are bound to steps must bring
each cart through one-way aisles, over crossings and into stations, for the whole run, without one contact.

Method: the floor is cut into cells (pieces of aisles and corridors, crossings, stations). A cart may enter a cell only when
it holds the cell, and it holds all cells up to the next place where it may stop. When the cells beyond that place are free
in time, it takes them and drives through; when they are not, it brakes, stops and waits. The cart that has waited longest is
asked first. So two carts are never in one cell, and no cart ever stands on a crossing.

Stations swap carts: a cart leaves for a station of the other row when the cart there leaves for this one. So a station is
free when a cart comes, and as many carts come to each station as leave it.

Each cart is followed step by step with the arithmetic of the DiffDrive system (what is asked for changes by the greatest
acceleration), so a stop is known to a millimetre before the world runs. Corners are driven at one speed and one rate of
turn for a whole number of steps, whose sum is exactly a quarter of a turn.

The plan ends with every cart at rest at a place where it may stop: a cart takes no cells that it cannot cross in time.
"""
import math
from collections import namedtuple

STEP = 0.001  # s

# The carrier: its limits are those of models/carrier/model.sdf.
ACCELERATION, TURN_ACCELERATION = 2.5, 10.0  # m/s2, rad/s2
CRUISE, CORNERING = 2.5, 1.2  # m/s: the greatest speed on a straight; the speed at which corners are driven
TURN_STEPS = 720  # from the command that begins a quarter turn to the one that ends it
TURN_RATE = round(math.pi / 2 / (TURN_STEPS * STEP), 6)  # rad/s
CLEAR = 0.5  # m from a cart's middle to the edge of its cell when it stands at it: half its length, and some room
DECK = 0.281  # m: a tote is put on the deck here, 1 mm above it

# The floor, in metres.
PITCH = 3.0  # from aisle to aisle
AISLE = 6.0  # length of an aisle
CORRIDOR = 1.5  # from the end of the aisles to the middle of the corridor
STATION = 2.0  # from there to the middle of the stations' lane
CROSSING = 0.85  # half a crossing
AISLE_CELLS = 2

# A station's arms. What they do takes HANDLING steps after a cart has come; then it may leave.
REACH_IN, REACH_TO = 0.6, 1.0  # m: from a pivot to the stopping cart, along the lane and across it
SWING = math.pi - math.atan2(REACH_TO, REACH_IN)  # rad: from along the lane to above the cart
SWING_STEPS = 500
HANDLING = 800
FIRST_WAIT = 1200  # steps: by then every cart may leave where it stands at first
SHORT = 0.6  # m: before a corner, a straight shorter than this is driven at the corner's speed

HEADINGS = ((1, 0), (0, 1), (-1, 0), (0, -1))
EAST, NORTH, WEST, SOUTH = range(4)
LEFT, RIGHT = 1, -1
PICK, PACK = "pick", "pack"  # the rows of stations: at the north totes are picked up, at the south they are packed


# --- how a cart moves -------------------------------------------------------------------------------------------------

def toward(value, target, most):
    return target if abs(target - value) <= most else value + math.copysign(most, target - value)


class Motion:
    """A cart as DiffDrive moves it, when its wheels do not slip."""

    def __init__(self, x, y, heading):
        self.x, self.y, self.yaw = x, y, heading * math.pi / 2
        self.speed = self.rate = self.target_speed = self.target_rate = 0.0

    def step(self):
        self.speed = toward(self.speed, self.target_speed, ACCELERATION * STEP)
        self.rate = toward(self.rate, self.target_rate, TURN_ACCELERATION * STEP)
        middle = self.yaw + self.rate * STEP / 2
        self.x += self.speed * STEP * math.cos(middle)
        self.y += self.speed * STEP * math.sin(middle)
        self.yaw += self.rate * STEP

    def braking_way(self, speed):
        """The way to slow down to that speed, and a step more."""
        return (self.speed ** 2 - speed ** 2) / (2 * ACCELERATION) + self.speed * STEP * 1.5


def measure_corner():
    """How far before a corner the turn begins (and how far behind it the turn ends), and how many steps it takes."""
    motion, steps = Motion(0.0, 0.0, EAST), 0
    motion.speed = motion.target_speed = CORNERING
    motion.target_rate = TURN_RATE
    while steps < TURN_STEPS or motion.rate:
        if steps == TURN_STEPS:
            motion.target_rate = 0.0
        motion.step()
        steps += 1
    return motion.x, steps


CORNER_WAY, CORNER_STEPS = measure_corner()


def straight_time(begin, end, way):
    """Seconds for a straight way, from one speed to another."""
    top = min(CRUISE, math.sqrt(max(ACCELERATION * way + (begin ** 2 + end ** 2) / 2, begin ** 2, end ** 2)))
    ramps = (2 * top ** 2 - begin ** 2 - end ** 2) / (2 * ACCELERATION)
    return (2 * top - begin - end) / ACCELERATION + max(0.0, way - ramps) / top


# --- where a cart drives ----------------------------------------------------------------------------------------------

Section = namedtuple("Section", "cell end stop")  # stop: where in the cell a cart may stop, None: nowhere


class Route:
    """Straights and right-angled corners. Lengths are measured along the straights, as if corners were sharp."""

    def __init__(self, x, y, heading):
        self.x, self.y, self.heading, self.length = x, y, heading, 0.0
        self.straights = [(0.0, x, y, heading)]  # where each begins
        self.corners = []  # length, side
        self.sections = []

    def go(self, way):
        dx, dy = HEADINGS[self.heading]
        self.x, self.y, self.length = self.x + dx * way, self.y + dy * way, self.length + way

    def go_to(self, x=None, y=None):
        self.go(abs(x - self.x) if y is None else abs(y - self.y))

    def turn(self, side):
        self.corners.append((self.length, side))
        self.heading = (self.heading + side) % 4
        self.straights.append((self.length, self.x, self.y, self.heading))

    def section(self, cell, stop=None):
        """From the end of the section before to here; stop: how far before its end a cart may stop."""
        self.sections.append(Section(cell, self.length, None if stop is None else self.length - stop))

    def cross(self, cell, side=0):
        self.go(CROSSING)
        if side:
            self.turn(side)
        self.go(CROSSING)
        self.section(cell)


class Floor:
    """Loops side by side. Loop j: up aisle 2j, right into pick station j, right, down aisle 2j+1, right into pack station j,
    and right. Between aisles and stations are corridors: the one at the north goes east, the one at the south west. A
    station is a pair (row, j)."""

    CELL = (AISLE + 2 * (CORRIDOR - CROSSING)) / AISLE_CELLS

    @staticmethod
    def corridor(row):
        return AISLE + CORRIDOR if row == PICK else -CORRIDOR

    @staticmethod
    def stop(station):
        """Where a cart stands in a station, and its heading."""
        row, j = station
        if row == PICK:
            return (2 * j + 0.5) * PITCH, Floor.corridor(row) + STATION, EAST
        return (2 * j + 0.5) * PITCH, Floor.corridor(row) - STATION, WEST

    @staticmethod
    def aisle_stop(column, cell):
        way = CROSSING - CORRIDOR + Floor.CELL * (cell + 1) - CLEAR
        return (column * PITCH, way, NORTH) if column % 2 == 0 else (column * PITCH, AISLE - way, SOUTH)

    @staticmethod
    def way_in(station):
        """The column through which carts come into a station."""
        return 2 * station[1] + (station[0] == PACK)

    @staticmethod
    def way_out(station):
        return 2 * station[1] + (station[0] == PICK)

    @staticmethod
    def along(route, row, column, to, side):
        """From a crossing along the corridor to the crossing of another column, and there to a side."""
        step = 1 if row == PICK else -1
        while column != to:
            route.go(PITCH - 2 * CROSSING)
            route.section(("corridor", row, min(column, column + step)), CLEAR)
            column += step
            route.cross(("crossing", row, column), side if column == to else 0)

    @staticmethod
    def through_aisle(route, column, first, to):
        """From before a cell of an aisle to a station beyond the aisle's other end."""
        for k in range(first, AISLE_CELLS):
            route.go(Floor.CELL)
            route.section(("aisle", column, k), CLEAR)
        Floor.arrive(route, column, to)

    @staticmethod
    def arrive(route, column, to):
        """From before a crossing into a station of that row."""
        row, ahead = to[0], Floor.way_in(to)
        route.cross(("crossing", row, column), 0 if column == ahead else RIGHT)
        Floor.along(route, row, column, ahead, LEFT)
        x, y, _ = Floor.stop(to)
        route.go_to(y=y)
        route.turn(RIGHT)
        route.go_to(x=x)
        route.section(to, 0.0)

    @staticmethod
    def depart(x, y, station, to):
        """From a station to one of the other row: along the first corridor if that leads there, else along the second."""
        row, j = station
        column, ahead = Floor.way_out(station), to[1] > j if row == PICK else to[1] < j
        route = Route(x, y, Floor.stop(station)[2])
        route.go(CLEAR)
        route.section(station)
        route.go_to(x=column * PITCH)
        route.turn(RIGHT)
        route.go_to(y=Floor.corridor(row) + (CROSSING if row == PICK else -CROSSING))
        route.section(("exit",) + station)
        route.cross(("crossing", row, column), LEFT if ahead else 0)
        if ahead:
            Floor.along(route, row, column, Floor.way_in(to), RIGHT)
            column = Floor.way_in(to)
        Floor.through_aisle(route, column, 0, to)
        return route

    @staticmethod
    def from_aisle(column, cell, to):
        route = Route(*Floor.aisle_stop(column, cell))
        route.go(CLEAR)
        route.section(("aisle", column, cell), CLEAR)
        Floor.through_aisle(route, column, cell + 1, to)
        return route


# --- which cart waits for which ---------------------------------------------------------------------------------------

class Cart:
    def __init__(self, number, place, tote, ready):
        self.name = f"cart_{number}"
        self.first_place, self.first_tote = place, tote  # place: x, y, heading
        self.motion, self.tote = Motion(*place), tote
        self.ready = ready  # the step from which on it may leave where it stands
        self.station = None  # where it stands, or stood last
        self.wants_since = None  # the step in which it was first refused the cells that it needs
        self.route = None

    def follow(self, route):
        self.route = route
        self.straight = self.corner = self.left = 0  # the straight it is on, the next corner, the sections it has left
        self.section = 0  # the last section that it holds
        self.turn_from = None  # the step in which the turn at the next corner began
        self.braking = self.slowing = False  # for a stop, for a corner

    def position(self):
        """Along the route; while it turns it goes over the corner evenly."""
        if self.turn_from is not None:
            done = (self.now - self.turn_from) / CORNER_STEPS
            return self.route.corners[self.corner][0] + CORNER_WAY * (2 * done - 1)
        begin, x, y, heading = self.route.straights[self.straight]
        dx, dy = HEADINGS[heading]
        return begin + (self.motion.x - x) * dx + (self.motion.y - y) * dy

    def next_corner(self):
        """Where the turn at the next corner begins."""
        corners = self.route.corners
        return corners[self.corner][0] - CORNER_WAY if self.corner < len(corners) else math.inf

    def stop(self):
        return self.route.sections[self.section].stop

    def time_to(self, stop):
        """Seconds that it takes to get there and stop."""
        at, speed, time = self.position(), self.motion.speed, 0.0
        for corner, _ in self.route.corners[self.corner:]:
            if corner > stop:
                break
            time += straight_time(speed, CORNERING, max(0.0, corner - CORNER_WAY - at)) + CORNER_STEPS * STEP
            at, speed = corner + CORNER_WAY, CORNERING
        return time + straight_time(speed, 0.0, stop - at)


def order(count, rng):
    """The numbers below count in some order, none farther than one from its place."""
    while True:
        numbers = list(range(count))
        rng.shuffle(numbers)
        if all(abs(number - place) <= 1 for place, number in enumerate(numbers)):
            return numbers


class Traffic:
    """The plan as it is made, step by step."""

    def __init__(self, loops, steps, rng):
        self.loops, self.steps, self.rng = loops, steps, rng
        self.carts, self.commands = [], []  # step, topic, text
        self.holder = {}  # of each cell that a cart holds
        self.stops = {(row, j): 0 for row in (PICK, PACK) for j in range(loops)}  # so far
        self.departures = dict(self.stops)
        self.swaps = {PICK: [], PACK: []}  # of each round: by station, the station of the other row
        self.totes = 0

    def new_tote(self):
        self.totes += 1
        return f"tote_{self.totes - 1}"

    def add_cart(self, cell, place):
        self.holder[cell] = cart = Cart(len(self.carts), place, self.new_tote(), self.rng.randrange(FIRST_WAIT))
        self.carts.append(cart)
        return cart

    def add_at_station(self, station):
        self.add_cart(station, Floor.stop(station)).station = station

    def add_in_aisle(self, column):
        cell = self.rng.randrange(AISLE_CELLS)
        to = (PICK if column % 2 == 0 else PACK, column // 2)
        cart = self.add_cart(("aisle", column, cell), Floor.aisle_stop(column, cell))
        cart.follow(Floor.from_aisle(column, cell, to))

    def command(self, step, topic, text):
        self.commands.append((step, topic, text))

    def drive(self, cart, speed, rate=0.0):
        motion = cart.motion
        if (speed, rate) != (motion.target_speed, motion.target_rate):
            motion.target_speed, motion.target_rate = speed, rate
            self.command(cart.now, f"/model/{cart.name}/cmd_vel",
                         f"linear: {{x: {speed:g}}}" + (f" angular: {{z: {rate:.6f}}}" if rate else ""))

    # cells

    def extend(self, cart):
        """Takes the cells up to the next place where the cart may stop, when all are free and time is left."""
        sections, last = cart.route.sections, cart.section + 1
        if last >= len(sections):
            return False
        while sections[last].stop is None:
            last += 1
        cells = [section.cell for section in sections[cart.section + 1:last + 1]]
        if any(cell in self.holder for cell in cells):
            if cart.wants_since is None:
                cart.wants_since = cart.now
            return False
        served = (HANDLING + SWING_STEPS) * STEP if last + 1 == len(sections) else 0.0
        if cart.now * STEP + cart.time_to(sections[last].stop) + served > self.steps * STEP - 0.1:
            return False
        for cell in cells:
            self.holder[cell] = cart
        cart.section, cart.wants_since, cart.braking = last, None, False
        return True

    def release(self, cart):
        """Gives back the cells that the cart has left."""
        position, sections = cart.position(), cart.route.sections
        while cart.left < cart.section and position > sections[cart.left].end + CLEAR:
            del self.holder[sections[cart.left].cell]
            cart.left += 1

    # stations

    def ready_at(self, station):
        """Whether a cart stands there that may leave."""
        cart = self.holder.get(station)
        return cart is not None and cart.route is None and cart.now >= cart.ready

    def depart(self, cart):
        """In each round a station swaps carts with one of the other row. The two leave when both are ready, so that where
        one goes the other makes room, and as many carts come to a station as leave it."""
        row, j = cart.station
        turn = self.departures[cart.station]
        if len(self.swaps[row]) == turn:
            there = order(self.loops, self.rng)
            back = sorted(range(self.loops), key=there.__getitem__)
            self.swaps[row].append(there)
            self.swaps[other(row)].append(back)
        to = (other(row), self.swaps[row][turn][j])
        if self.departures[to] < turn or (self.departures[to] == turn and not self.ready_at(to)):
            return
        cart.follow(Floor.depart(cart.motion.x, cart.motion.y, cart.station, to))
        if self.extend(cart):
            self.departures[(row, j)] += 1
        else:
            cart.route = None

    def arrived(self, cart):
        """An arm swings over the cart, changes the tote for another, and swings back. The two arms take turns."""
        now, station = cart.now, cart.route.sections[-1].cell
        cart.route, cart.station, cart.ready = None, station, now + HANDLING
        side, self.stops[station] = self.stops[station] % 2, self.stops[station] + 1
        topic, rate = f"/model/{arm(station, side)}/joint/pivot/cmd_vel", (1, -1)[side] * SWING / (SWING_STEPS * STEP)
        for step, speed in ((100, rate), (100 + SWING_STEPS, 0), (HANDLING, -rate), (HANDLING + SWING_STEPS, 0)):
            self.command(now + step, topic, f"data: {speed:.6g}")
        self.command(now + SWING_STEPS + 200, "/world/warehouse/remove", f'name: "{cart.tote}" type: MODEL')
        cart.tote = self.new_tote()
        self.command(now + SWING_STEPS + 250, "/world/warehouse/create",
                     f'sdf_filename: "models/tote" name: "{cart.tote}" relative_to: "{cart.name}" '
                     f"pose {{position {{z: {DECK}}}}}")

    # a step of a cart

    def turn(self, cart):
        """On a corner. Returns whether it still is."""
        done = cart.now - cart.turn_from
        if done == TURN_STEPS:
            self.drive(cart, CORNERING)
        if done < CORNER_STEPS:
            return True
        cart.turn_from, cart.slowing = None, False
        cart.corner, cart.straight = cart.corner + 1, cart.straight + 1
        return False

    def stop_at(self, cart, stop):
        """Before a stop with no corner between. Returns whether it is to be heeded."""
        if not cart.braking and stop - cart.position() > cart.motion.braking_way(0):
            return False
        if self.extend(cart):
            return False
        cart.braking = True
        self.drive(cart, 0.0)
        if cart.motion.speed == 0 and cart.section + 1 == len(cart.route.sections):
            self.arrived(cart)
        return True

    def control(self, cart):
        if cart.route is None and cart.now >= cart.ready:
            self.depart(cart)
        if cart.route is None or (cart.turn_from is not None and self.turn(cart)) or cart.now < cart.ready:
            return
        corner = cart.next_corner()
        if corner > cart.stop() and self.stop_at(cart, cart.stop()):
            return
        target, speed = (corner, CORNERING) if corner <= cart.stop() else (cart.stop(), 0.0)
        left, motion = target - cart.position(), cart.motion
        if speed and left <= motion.speed * STEP / 2:
            assert abs(motion.speed - CORNERING) < 1e-9, "a corner is driven at one speed"
            cart.turn_from = cart.now
            self.drive(cart, CORNERING, cart.route.corners[cart.corner][1] * TURN_RATE)
        elif cart.slowing or (motion.speed > speed and left <= motion.braking_way(speed)):
            cart.slowing = True
            self.drive(cart, speed)
        else:
            self.drive(cart, CORNERING if speed and left < SHORT else CRUISE)

    def run(self, on_step=None):
        for now in range(self.steps):
            for cart in self.carts:
                cart.now = now
            for cart in sorted(self.carts, key=lambda c: now if c.wants_since is None else c.wants_since):
                self.control(cart)
                if cart.route:
                    self.release(cart)
            for cart in self.carts:
                cart.motion.step()
            if on_step:
                on_step(now)
        assert all(cart.motion.speed == 0 and cart.motion.rate == 0 for cart in self.carts), "all carts stand at the end"


def other(row):
    return PACK if row == PICK else PICK


def arm(station, side):
    return f"arm_{station[0]}_{station[1]}_{'ab'[side]}"


def begin(loops, steps, rng):
    """Two carts for each station: one begins in it, one in the aisle before it."""
    traffic = Traffic(loops, steps, rng)
    for station in traffic.stops:
        traffic.add_at_station(station)
    for column in range(2 * loops):
        traffic.add_in_aisle(column)
    return traffic
