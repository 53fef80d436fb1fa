import { execFileSync } from 'node:child_process';
import { draw } from '../documents.mjs';
import { figure, interleave } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { Workload } from '../workload.mjs';

export const name = 'accounts';
export const about =
  'GET of random documents, 50 at a time, by who has a session or sends a password, against nobody; what statistics take of one';

const DOCUMENTS = 5_000;
const NAME_AND_PASSWORD = { name: 'ana', password: 'secret of ana' };
const BASIC = `Basic ${Buffer.from(Object.values(NAME_AND_PASSWORD).join(':')).toString('base64')}`;

export async function run(bench) {
  const count = bench.size(10_000, 5_000);
  const settee = await bench.startSettee();
  const workload = await Workload.open(settee, 'accounts', 50);
  await workload.create();
  await workload.bulk('sequential', 0, DOCUMENTS);
  const cookie = await setUp(settee);
  const usPerGet = (headers) => async (round) => {
    const indexes = Array.from({ length: count }, (_, step) => draw(step, DOCUMENTS, round));
    const { ms } = await workload.get('sequential', indexes, { parallel: true, headers });
    return (ms / count) * 1_000;
  };
  const us = await interleave(bench.size(9, 5), {
    nobody: usPerGet({}),
    session: usPerGet({ cookie }),
    password: usPerGet({ authorization: BASIC }),
  });
  workload.close();
  await settee.stop();
  const line = (what, ours, atMost) =>
    figure({
      name: `GET ${what}`,
      ours,
      floor: us.nobody,
      floorName: 'without credentials',
      unit: 'µs',
      asked: { atMost },
    });
  const counting = JSON.parse(execFileSync(process.execPath, [bench.countedRequestsScript], { encoding: 'utf8' })).us;
  return [
    line('with a session', us.session, 1.1),
    line('with a password', us.password, 1.2),
    { ...line('', counting, 0.02), name: 'statistics of a request' },
  ];
}

/** Makes a user, then an admin, so that who sends nothing is nobody. Gives the user's session. */
async function setUp(settee) {
  const connection = await Connection.open(settee.port);
  const send = async (method, path, body, ...expected) => {
    const answer = await connection.send(toRequest(method, path, JSON.stringify(body)));
    if (!expected.includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status}: ${answer.text}`);
    return answer;
  };
  await send('PUT', '/_users', {}, 201, 412);
  await send('PUT', '/_users/org.couchdb.user:ana', { ...NAME_AND_PASSWORD, type: 'user', roles: [] }, 201);
  await send('PUT', '/_config/admins/root', 'secret of root', 200);
  const { headers } = await send('POST', '/_session', NAME_AND_PASSWORD, 200);
  connection.close();
  return String(headers['set-cookie']).split(';')[0];
}
