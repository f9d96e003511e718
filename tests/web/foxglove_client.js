// Foxglove's own client library as a client that keeps what it gets, for the scripts of this folder.
"use strict";
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const { WebSocket } = require("ws");
const { parse } = require("@foxglove/rosmsg");
const { MessageReader } = require("@foxglove/rosmsg2-serialization");
const { check, finish, sleep, until } = require("./checks.js");

class Client {
  constructor(url, protocols = [FoxgloveClient.SUPPORTED_SUBPROTOCOL], options = {}) {
    this.socket = new WebSocket(url, protocols, options);
    this.channels = new Map();
    this.services = new Map();
    this.messages = new Map(); // by subscription
    this.replies = new Map(); // by call
    this.statuses = [];
    this.times = [];
    this.gone = [];
    this.calls = 0;
    this.client = new FoxgloveClient({ ws: this.socket });
    this.client.on("error", (error) => (this.error = error));
    this.client.on("close", (event) => (this.closed = event));
    this.client.on("serverInfo", (info) => (this.info = info));
    this.client.on("status", (status) => this.statuses.push(status));
    this.client.on("removeStatus", ({ statusIds }) => (this.statuses = this.statuses.filter((s) => !statusIds.includes(s.id))));
    this.client.on("advertise", (list) => list.forEach((c) => this.channels.set(c.topic, c)));
    this.client.on("unadvertise", (list) => {
      this.gone.push(...list);
      for (const [topic, channel] of this.channels) if (list.includes(channel.id)) this.channels.delete(topic);
    });
    this.client.on("advertiseServices", (list) => list.forEach((s) => this.services.set(s.name, s)));
    this.client.on("time", (time) => this.times.push(time.timestamp));
    this.client.on("connectionGraphUpdate", (graph) => (this.graph = graph));
    this.client.on("message", (message) => this.messages.get(message.subscriptionId)?.push(message));
    this.client.on("serviceCallResponse", (reply) => this.replies.set(reply.callId, reply));
    this.client.on("serviceCallFailure", (reply) => this.replies.set(reply.callId, reply));
  }
  async subscribe(topic) {
    const channel = await until(() => this.channels.get(topic));
    if (!channel) return undefined;
    const id = this.client.subscribe(channel.id);
    const list = [];
    this.messages.set(id, list);
    const reader = channel.encoding === "cdr" ? new MessageReader(parse(channel.schema, { ros2: true })) : undefined;
    list.id = id;
    list.read = (i) => reader ? reader.readMessage(list[i].data) : JSON.parse(Buffer.from(list[i].data.buffer,
      list[i].data.byteOffset, list[i].data.byteLength).toString());
    return list;
  }
  async call(name, request, encoding = "json") {
    const service = await until(() => this.services.get(name));
    const callId = ++this.calls;
    this.client.sendServiceCallRequest({ serviceId: service ? service.id : 999999, callId, encoding,
      data: new Uint8Array(Buffer.from(typeof request === "string" ? request : JSON.stringify(request))) });
    const reply = await until(() => this.replies.get(callId));
    return reply && reply.data ? JSON.parse(Buffer.from(reply.data.buffer, reply.data.byteOffset,
      reply.data.byteLength).toString() || "{}") : reply;
  }
  publish(topic, schemaName, text, encoding = "json") {
    const id = this.client.advertise({ topic, encoding, schemaName });
    this.client.sendMessage(id, new Uint8Array(typeof text === "string" ? Buffer.from(text) : text));
    return id;
  }
}

module.exports = { Client, WebSocket, check, finish, sleep, until };
