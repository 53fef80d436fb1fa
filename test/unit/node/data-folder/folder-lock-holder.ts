import { lockFolder } from '../../../../src/node/data-folder/folder-lock.ts';

/** A process that takes the folder given to it and keeps it. Says `held` or the error's reason on stdout. */
try {
  const lock = await lockFolder(process.argv[2] ?? '');
  lock.announce('http://127.0.0.1:1234/');
  process.stdout.write('held\n');
  process.stdin.resume();
  process.stdin.on('end', () => void lock.release());
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : error}\n`);
}
