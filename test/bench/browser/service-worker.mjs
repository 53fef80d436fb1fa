/** What the service worker costs: beyond one that answers a constant, at hand or asked of a worker, and for requests that are not ours. */
import { draw } from '../documents.mjs';
import { interleave } from '../figures.mjs';
import { documentsFrom, each, idOf, plainFetch, send } from './measuring.mjs';

export async function throughServiceWorker(bench) {
  await bench.start();
  const documents = 1_000;
  const count = bench.size(500, 100);
  const path = `${bench.base}through`;
  await send(plainFetch, 'PUT', path);
  const body = JSON.stringify({ docs: documentsFrom(0, documents) });
  await send(plainFetch, 'POST', `${path}/_bulk_docs`, body);
  const frame = await openFrame('/constant/frame.html?constant-sw.js');
  await frame.give(await toConstant(await fetch(`${path}/${idOf(0)}`)));
  const ms = await interleave(bench.size(7, 2), {
    getThrough: () => each(count, 1, (index) => send(plainFetch, 'GET', `${path}/${idOf(draw(index, documents))}`)),
    getConstant: () => frame.ask('/constant/answer', count),
    getByPort: () => frame.ask('/constant/port', count),
    getByChannel: () => frame.ask('/constant/channel', count),
  });
  frame.remove();
  await send(plainFetch, 'DELETE', path);
  await bench.settee.close();
  return ms;
}

/** An answer of ours, to be given again and again: as much of it goes from the service worker to the page as of the real one. */
async function toConstant(answer) {
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
}

/**
 * The same requests in this page, which a service worker controls, and in one of another origin, which none does. Also in one whose service
 * worker has a single rule for the browser, that all goes to the network: what controlling a page costs by itself.
 */
export async function untouched(bench) {
  await bench.start();
  const count = bench.size(500, 100);
  const free = await openFrame(`${bench.otherOrigin}/constant/frame.html`);
  const routed = await openFrame('/constant/frame.html?network-sw.js');
  const ms = await interleave(bench.size(9, 2), {
    untouchedRouted: () => routed.ask('/constant.txt', count),
    untouchedControlled: () => each(count, 1, () => send(plainFetch, 'GET', '/constant.txt')),
    untouchedFree: () => free.ask('/constant.txt', count),
  });
  free.remove();
  routed.remove();
  await bench.settee.close();
  return ms;
}

async function openFrame(address) {
  const frame = document.createElement('iframe');
  const ready = nextMessage(frame);
  frame.src = address;
  document.body.append(frame);
  await ready;
  const ask = (question) => {
    const answer = nextMessage(frame);
    frame.contentWindow.postMessage(question, '*');
    return answer;
  };
  return {
    ask: (address, count) => ask({ address, count }),
    give: (constant) => ask({ constant, address: '/constant/answer', count: 1 }),
    remove: () => frame.remove(),
  };
}

function nextMessage(frame) {
  return new Promise((resolve) => {
    const listen = ({ source, data }) => {
      if (source !== frame.contentWindow) return;
      removeEventListener('message', listen);
      resolve(data);
    };
    addEventListener('message', listen);
  });
}
