/** Plain JavaScript of any age, because it must run on a Node that is too old for everything else. */

const lowestNode = [20, 19];

/** A failure that the message explains to the user; any other error is a defect. */
export class PreparationError extends Error {}

/** Throws when this Node is too old for Settee. */
export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > lowestNode[0] || (major === lowestNode[0] && minor >= lowestNode[1])) return;
  throw new PreparationError(
    `Settee needs Node ${lowestNode.join('.')} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org/ and try again.`,
  );
}
