import { draw, idKinds } from '../documents.mjs';
import { figure, interleave } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { ServerProcess } from '../processes.mjs';
import { Workload } from '../workload.mjs';

export const name = 'get';
export const about = 'GET of random documents, 50 at a time, against bare hono answering the same bytes and headers';

const DOCUMENTS = 20_000;
/** Made by the servers themselves. */
const ownHeaders = new Set(['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']);

export async function run(bench) {
  const count = bench.size(10_000, 5_000);
  const settee = await bench.startSettee();
  const ours = await Workload.open(settee, 'get', 50);
  await ours.create();
  await ours.bulk('sequential', 0, DOCUMENTS);
  const floor = await ServerProcess.startModule('baselines/server.mjs', [
    bench.newFolder(),
    await sampleAnswer(settee),
  ]);
  const bare = await Workload.open(floor, 'get', 50);
  const perSecond = async (workload, round) => {
    const indexes = Array.from({ length: count }, (_, step) => draw(step, DOCUMENTS, round));
    const { ms } = await workload.get('sequential', indexes, { parallel: true });
    return (count / ms) * 1_000;
  };
  const rate = await interleave(bench.size(9, 3), {
    floor: (round) => perSecond(bare, round),
    ours: (round) => perSecond(ours, round),
  });
  ours.close();
  bare.close();
  await settee.stop();
  await floor.kill();
  return [
    figure({
      name: 'GET 50 at a time',
      ours: rate.ours,
      floor: rate.floor,
      floorName: 'hono, same bytes and headers',
      unit: '/s',
      asked: { atLeast: 0.6 },
    }),
  ];
}

/** One of our own answers, for the floor to repeat. */
async function sampleAnswer(settee) {
  const connection = await Connection.open(settee.port);
  const answer = await connection.send(toRequest('GET', `/get/${idKinds.sequential(DOCUMENTS / 2)}`));
  connection.close();
  const headers = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !ownHeaders.has(name)));
  return JSON.stringify({ text: answer.text, headers });
}
