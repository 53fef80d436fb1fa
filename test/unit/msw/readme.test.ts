import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** What the README shows is the test beside this one, which runs with the others. */
test('the README shows the example as it runs here', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
  const example = readFileSync(join(import.meta.dirname, 'readme-example.test.ts'), 'utf8');
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\`\n`);
});
