/** A PostgreSQL server for a benchmark, as a process of its own: writes its URL to stdout, and goes when the process ends. */
import { Cluster } from '../support/postgres/cluster.ts';

const cluster = await Cluster.start({ fsync: true });
if (cluster === undefined) throw new Error('There is no PostgreSQL here: install it, or set TEST_POSTGRES_URL');
process.stdout.write(`${cluster.url()}\n`);
process.once('SIGTERM', () => void cluster.remove().then(() => process.exit()));
// The server alone does not keep the process.
setInterval(() => undefined, 2 ** 30);
