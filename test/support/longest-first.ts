import type { TestSequencerConstructor, TestSpecification } from 'vitest/node';

/**
 * Runs the files of the first list, then those of the next, and then all others, so that no long one is left to run alone at the end. Lists have
 * parts of paths. Files of a project follow each other within each of these groups, since a process serves one project.
 */
export function longestFirst(...lists: readonly (readonly string[])[]): TestSequencerConstructor {
  function rankOf({ moduleId }: TestSpecification): number {
    const rank = lists.findIndex((list) => list.some((part) => moduleId.includes(part)));
    return rank < 0 ? lists.length : rank;
  }
  return class {
    async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const projects = [...new Set(files.map(({ project }) => project))];
      const placeOf = ({ project }: TestSpecification) => projects.indexOf(project);
      return files.toSorted((one, other) => rankOf(one) - rankOf(other) || placeOf(one) - placeOf(other));
    }

    async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
      return files;
    }
  };
}
