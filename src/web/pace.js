// How fast the run is: one set of figures for the bar and for the chart. Each picture says of one state its step, its
// simulated time, and at which real time it was. So the figures do not depend on when a picture reaches the page, or
// how late it is drawn.
const WINDOW_S = 1;           // figures are means of so much real time
const LEAST_S = .25;          // from less no figure is made
const SAMPLE_S = .2;          // of the chart
const SAMPLES_MAX = 600;

export class Pace {
	constructor() {
		this.changed = () => {};      // called when the figures have changed
		this.clear();
	}

	clear() {
		this.paused = false;
		this.now = null;              // {step, time, real}: of the newest picture
		this.samples = [];            // real-time factors
		this.restart();
	}

	// What comes now is not to be compared with what came before.
	restart() {
		this.marks = [];
		this.sampled = null;
		this.factor = this.rate = NaN;   // the real-time factor; steps in a second of real time
	}

	setPaused(paused) {
		if (paused === this.paused)
			return;
		this.paused = paused;
		this.restart();
		this.changed();
	}

	// A picture, of frames.js
	take({step, time, real}) {
		const now = {step, time, real}, before = this.now;
		this.now = now;
		// a reset, a jump in a recording, or another run
		if (before && (real < before.real || step < before.step || time < before.time))
			this.restart();
		if (this.paused)
			return;
		this.marks.push(now);
		while (this.marks.length > 2 && this.marks[1].real <= real - WINDOW_S)
			this.marks.shift();
		this.sampled = this.sampled || now;
		if (real - this.sampled.real >= SAMPLE_S)
			this.sample(now);
	}

	sample(now) {
		const first = this.marks[0], took = now.real - first.real;
		this.samples.push((now.time - this.sampled.time) / (now.real - this.sampled.real));
		if (this.samples.length > SAMPLES_MAX)
			this.samples.shift();
		this.sampled = now;
		if (took < LEAST_S)
			return;
		this.factor = (now.time - first.time) / took;
		this.rate = (now.step - first.step) / took;
		this.changed();
	}
}
