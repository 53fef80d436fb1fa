import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, assert, beforeEach, describe, test } from 'vitest';
import { SetteeProcess } from '../unit/node/settee-process.ts';
import { observed } from './support/observation.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/** A server that `settee export` reads from may answer without an end: the command takes bounded memory, and says what was wrong. */
/** Documents may have 128 MB. */
const MAX_BYTES = 300_000_000;
const timeout = 120_000;

let server: Server;
let url: string;
let answer: (path: string, response: ServerResponse) => void;

beforeEach(async () => {
  server = createServer(({ url: path }, response) => {
    response.on('error', () => undefined);
    answer(path ?? '', response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/db`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Writes `piece` as long as the other side reads, 4 GB at most. */
function endless(response: ServerResponse, status: number, first: string, piece: string): void {
  const pieces = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  let left = 4e9;
  response.writeHead(status, { 'content-type': 'application/json' }).write(first);
  const more = () => {
    while (!response.destroyed && left > 0) {
      left -= pieces.length;
      if (!response.write(pieces)) return;
    }
  };
  response.on('drain', more);
  more();
}

const INFO = '{"db_name":"db","update_seq":1,"doc_count":1}';

describe.skipIf(noProcessFiles !== undefined)('settee export of a server with endless output', () => {
  const cases: readonly (readonly [what: string, answer: typeof answer, said: RegExp])[] = [
    [
      'whose database has a description without an end',
      (_path, response) => endless(response, 200, '{"db_name":"', 'x'),
      /answered with more than \d+ bytes/,
    ],
    ['whose refusal has no end', (_path, response) => endless(response, 500, 'no ', 'x'), /500/],
    [
      'whose list has a row without an end',
      (path, response) =>
        path.startsWith('/db/') ? endless(response, 200, '{"rows":[\n{"id":"', 'x') : response.end(INFO),
      /more than|too long|longer than/,
    ],
  ];

  test.for(cases)('%s', { timeout }, async ([, made, said]) => {
    answer = made;
    const command = new SetteeProcess(['export', url]);
    command.child.stdin?.end();
    const { pid } = command.child;
    assert.isDefined(pid);
    const { result, highest } = await highestMemory(pid, () => command.exited.catch(() => undefined));
    observed().noteOutcome(`exit ${result?.code}: ${command.stderr.slice(0, 120).replaceAll('\n', ' ')}`);
    assert.equal(result?.code, 1, command.stderr);
    assert.match(command.stderr, said);
    assert.isAtMost(highest, MAX_BYTES, megabytes(highest));
  });
});
