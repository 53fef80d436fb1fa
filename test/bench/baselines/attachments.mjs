/**
 * What an attachment costs at least: node:http and LMDB, without a digest, a revision or a journal. PUT copies the body into pages as large as
 * Settee's, as many to a commit; GET copies them out, or answers a range from the one page that has it.
 *
 * Argument: a folder for LMDB.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { open } from 'lmdb';

const PAGE_BYTES = 256 * 1024;
const PAGES_PER_COMMIT = 4;

const pages = open({ path: join(process.argv[2], 'floor'), encoding: 'binary' });
const lengths = new Map();

async function put(request) {
  let page = Buffer.alloc(PAGE_BYTES);
  let [filled, length, count] = [0, 0, 0];
  let commit;
  const endPage = () => {
    commit = pages.put([request.url, count++], page.subarray(0, filled));
    page = Buffer.alloc(PAGE_BYTES);
    filled = 0;
  };
  for await (const chunk of request) {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(page, filled, at);
      at += copied;
      filled += copied;
      length += copied;
      if (filled === PAGE_BYTES) endPage();
      if (filled === 0 && count % PAGES_PER_COMMIT === 0) await commit;
    }
  }
  if (filled > 0) endPage();
  await commit;
  lengths.set(request.url, length);
}

function* pagesOf(url, length) {
  for (let number = 0; number * PAGE_BYTES < length; number++) yield pages.get([url, number]);
}

createServer(async (request, response) => {
  if (request.method === 'PUT') {
    await put(request);
    response.writeHead(201, { 'content-length': 2 }).end('{}');
    return;
  }
  const length = lengths.get(request.url);
  const [, from] = /bytes=(\d+)-/.exec(request.headers.range ?? '') ?? [];
  if (from === undefined) {
    response.writeHead(200, { 'content-length': length });
    await pipeline(pagesOf(request.url, length), response);
    return;
  }
  const page = pages.get([request.url, Math.floor(from / PAGE_BYTES)]);
  const part = page.subarray(from % PAGE_BYTES);
  response.writeHead(206, { 'content-length': part.length, 'content-range': `bytes ${from}-${length - 1}/${length}` });
  response.end(part);
}).listen(0, '127.0.0.1', function listening() {
  process.stdout.write(`http://127.0.0.1:${this.address().port}\n`);
});
