// The port to the page that shows this panel. hear(message): what the page says; say(message): what it is asked for.
let port = null;

export function connect(hear) {
	addEventListener("message", event => {
		if (event.source !== parent || event.data.op !== "begin")
			return;
		port = event.ports[0];
		port.onmessage = ({data}) => hear(data);
		hear(event.data);
	});
}

export const say = message => port && port.postMessage(message);
