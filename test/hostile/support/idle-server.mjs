/** Answers everything with an empty object, and does nothing else: what its neighbour waits for is the machine's doing. Tells its parent its address. */
import { createServer } from 'node:http';

const server = createServer((_, response) => response.end('{}'));
server.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}/`));
// It ends with its parent, however that ends.
process.on('disconnect', () => process.exit());
