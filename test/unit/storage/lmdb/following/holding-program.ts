/** A follower as a process: it sends the head that it sees, and holds that state until it is killed, unless its last argument is `releases`. */
import { must } from '../../../../../src/base/shared/assert.ts';
import { createLmdbPageStore } from '../../../../../src/storage/lmdb/lmdb-page-store.ts';

const [folder = '', releases] = process.argv.slice(2);
const file = await must(createLmdbPageStore(folder).follow?.('file'));
const state = must(await file.poll());
if (releases !== undefined) state.release();
process.send?.(state.point.head);
// Without a listener the process would end here.
process.on('disconnect', () => process.exit());
