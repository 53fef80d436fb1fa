/** What the service worker costs: beyond one that answers a constant, at hand or asked of a worker, and for requests that are not ours. */
import { draw } from '../documents.mjs';
import { interleave } from '../figures.mjs';
import { documentsFrom, each, idOf, plainFetch, send } from './measuring.mjs';

/** Requests of one kind before those of the next: a fifth of a second, within which machines hardly change their speed. */
const AT_ONCE = 100;

export async function throughServiceWorker(bench) {
  await bench.start();
  const documents = 1_000;
  const path = `${bench.base}through`;
  await send(plainFetch, 'PUT', path);
  const body = JSON.stringify({ docs: documentsFrom(0, documents) });
  await send(plainFetch, 'POST', `${path}/_bulk_docs`, body);
  const frame = await openFrame('/constant/frame.html?constant-sw.js');
  await frame.give(await toConstant(await fetch(`${path}/${idOf(0)}`)));
  const ms = await interleave(bench.size(35, 2), {
    getThrough: (round) =>
      each(AT_ONCE, 1, (index) => {
        const id = idOf(draw(round * AT_ONCE + index, documents));
        return send(plainFetch, 'GET', `${path}/${id}`);
      }),
    getConstant: () => frame.ask('/constant/answer', AT_ONCE),
    getByPort: () => frame.ask('/constant/port', AT_ONCE),
    getByChannel: () => frame.ask('/constant/channel', AT_ONCE),
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
  const free = await openFrame(`${bench.otherOrigin}/constant/frame.html`);
  const routed = await openFrame('/constant/frame.html?network-sw.js');
  const ms = await interleave(bench.size(45, 2), {
    untouchedRouted: () => routed.ask('/constant.txt', AT_ONCE),
    untouchedControlled: () => each(AT_ONCE, 1, () => send(plainFetch, 'GET', '/constant.txt')),
    untouchedFree: () => free.ask('/constant.txt', AT_ONCE),
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
