import { randomFillSync } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { figure, interleave } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { ServerProcess } from '../processes.mjs';

export const name = 'attachments';
export const about =
  'PUT, GET and ranges of large attachments, against node:http that copies the bytes to and from LMDB';

const MEGABYTE = 2 ** 20;
const FILE_BYTES = 32 * MEGABYTE;

export async function run(bench) {
  const settee = await bench.startSettee();
  const floor = await ServerProcess.startModule('baselines/attachments.mjs', [bench.newFolder()]);
  const ours = await Attachments.open(settee.port);
  const bare = await Attachments.open(floor.port);
  await ours.create();
  const whole = await interleave(bench.size(7, 2), {
    barePut: (round) => bare.put(`/files/put-${round}/file`, FILE_BYTES),
    ourPut: (round) => ours.put(`/files/put-${round}/file`, FILE_BYTES),
    bareGet: (round) => bare.get(`/files/put-${round}/file`, FILE_BYTES),
    ourGet: (round) => ours.get(`/files/put-${round}/file`, FILE_BYTES),
  });
  const largeBytes = bench.size(1024, 64) * MEGABYTE;
  await bare.put('/files/large/file', largeBytes);
  await ours.put('/files/large/file', largeBytes);
  const range = await interleave(bench.size(200, 50), {
    bare: () => bare.getEnd('/files/large/file', largeBytes, 1024),
    ours: () => ours.getEnd('/files/large/file', largeBytes, 1024),
  });
  ours.close();
  bare.close();
  await settee.stop();
  await floor.kill();
  const floorName = 'node:http and LMDB, no digest';
  const rate = (ms) => (FILE_BYTES / MEGABYTE / ms) * 1_000;
  const compare = (what, our, their) =>
    figure({ name: what, ours: rate(our), floor: rate(their), floorName, unit: 'MiB/s', asked: { atLeast: 0.5 } });
  return [
    compare('PUT of an attachment of 32 MiB', whole.ourPut, whole.barePut),
    compare('GET of an attachment of 32 MiB', whole.ourGet, whole.bareGet),
    figure({
      name: `the last KiB of ${largeBytes / MEGABYTE} MiB, beyond a bare answer`,
      ours: range.ours - range.bare,
      unit: 'ms',
      asked: { atMost: 2 },
      note: `${range.ours.toPrecision(3)} ms, the bare answer ${range.bare.toPrecision(3)} ms`,
    }),
  ];
}

/** A client of one server. Gives milliseconds. */
class Attachments {
  #port;
  #connection;
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #chunk = randomFillSync(Buffer.alloc(MEGABYTE));

  static async open(port) {
    const client = new Attachments();
    client.#port = port;
    client.#connection = await Connection.open(port);
    return client;
  }

  async create() {
    await this.#connection.send(toRequest('PUT', '/files'));
  }

  /** No two megabytes of it are the same, and no two files. */
  put(path, bytes) {
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/octet-stream', 'content-length': bytes };
      const options = { port: this.#port, host: '127.0.0.1', method: 'PUT', path, headers, agent: this.#agent };
      const request = httpRequest(options, (response) => {
        if (response.statusCode !== 201) reject(new Error(`PUT ${path}: status ${response.statusCode}`));
        response.resume().on('end', () => resolve(performance.now() - began));
      });
      request.on('error', reject);
      let sent = 0;
      const send = () => {
        while (sent < bytes) {
          const chunk = Buffer.from(this.#chunk);
          chunk.writeUInt32LE(sent / MEGABYTE, 0);
          chunk.write(path, 4);
          sent += chunk.length;
          if (!request.write(chunk)) return;
        }
        request.off('drain', send);
        request.end();
      };
      request.on('drain', send);
      send();
    });
  }

  async get(path, bytes) {
    const began = performance.now();
    const answer = await this.#connection.count(toRequest('GET', path));
    if (answer.status !== 200 || answer.bytes < bytes) throw new Error(`GET ${path}: ${JSON.stringify(answer)}`);
    return performance.now() - began;
  }

  /** The last bytes. */
  async getEnd(path, length, bytes) {
    const request = toRequest('GET', path, undefined, { range: `bytes=${length - bytes}-` });
    const began = performance.now();
    const { status } = await this.#connection.send(request);
    if (status !== 206) throw new Error(`a range of ${path}: status ${status}`);
    return performance.now() - began;
  }

  close() {
    this.#agent.destroy();
    this.#connection.close();
  }
}
