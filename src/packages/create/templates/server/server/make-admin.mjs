/**
 * `npm run server:admin`: makes the first admin of the server that `npm run server` has started, and the database of its users, so that people can
 * sign up. Until then, everyone who can reach the server is its admin. If the input is not a terminal, its first two lines are name and password.
 */
import { createInterface } from 'node:readline';

const server = process.env.SETTEE_SERVER ?? 'http://127.0.0.1:5984';
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function ask(question) {
  process.stdout.write(question);
  return ((await lines.next()).value ?? '').trim();
}

async function send(path, body, headers = {}) {
  try {
    return await fetch(server + path, { method: 'PUT', headers, body });
  } catch {
    throw new Error(`No server answers at ${server}. Start it with npm run server, in another terminal.`);
  }
}

async function mustBeOk(response, allowed) {
  if (response.ok || response.status === allowed) return;
  throw new Error(`The server refused: ${(await response.json()).reason}`);
}

try {
  const name = (await ask('Name of the admin (admin): ')) || 'admin';
  const password = await ask('Password (shown as you type): ');
  if (password === '') throw new Error('Without a password there is no admin.');
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  const made = await send(`/_config/admins/${encodeURIComponent(name)}`, JSON.stringify(password));
  if (made.status === 401) process.stdout.write('\nThe server has an admin already; this log-in is tried.');
  else await mustBeOk(made);
  // 412: it exists.
  await mustBeOk(await send('/_users', undefined, { authorization }), 412);
  process.stdout.write(
    `\nThe server has an admin, and people can sign up. Its administration page is ${server}/_utils/\n`,
  );
} catch (error) {
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
} finally {
  process.stdin.destroy();
}
