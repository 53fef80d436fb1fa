/** What a block of code becomes so that a page can run it: the body of an asynchronous function, whose variables the next block sees. */
import { parseAst } from 'vite';

/**
 * Its variables are set without being declared: the page declares them, as `names`. Modules come from `setteeImport`, and the function
 * returns the value of the last statement, or the variables that it declares. Throws if it can't be parsed.
 */
export function toRunnable(code) {
  const { body } = parseAst(code);
  const names = body.flatMap(namesOf);
  const edits = body.flatMap((statement, index) => editsOf(statement, code, index === body.length - 1));
  let text = code;
  for (const { start, end, to } of edits.sort((one, other) => other.start - one.start))
    text = text.slice(0, start) + to + text.slice(end);
  return { text: text.trim(), names };
}

/** The modules that a block imports. */
export function importsOf(code) {
  return [...code.matchAll(/^(?:import|export)\b(?! type\b).*? from '([^']+)';$/gms)].map(([, name]) => name);
}

function namesOf(statement) {
  switch (statement.type) {
    case 'ImportDeclaration':
      return statement.specifiers.map(({ local }) => local.name);
    case 'VariableDeclaration':
      return statement.declarations.flatMap(({ id }) => namesIn(id));
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [statement.id.name];
    case 'ExportNamedDeclaration':
      return statement.declaration ? namesOf(statement.declaration) : [];
    default:
      return [];
  }
}

function namesIn(pattern) {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((one) => namesIn(one.type === 'RestElement' ? one.argument : one.value));
    case 'ArrayPattern':
      return pattern.elements.flatMap((one) => (one === null ? [] : namesIn(one)));
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    default:
      return [];
  }
}

function editsOf(statement, code, isLast) {
  const { start, end } = statement;
  const source = (node) => code.slice(node.start, node.end);
  switch (statement.type) {
    case 'ImportDeclaration': {
      const parts = statement.specifiers.map(({ imported, local }) => `${imported?.name ?? 'default'}: ${local.name}`);
      return [
        {
          start,
          end,
          to: `({ ${parts.join(', ')} } = await setteeImport(${JSON.stringify(statement.source.value)}));`,
        },
      ];
    }
    case 'VariableDeclaration': {
      const set = statement.declarations.map(
        ({ id, init }) => `(${source(id)} = ${init ? source(init) : 'undefined'});`,
      );
      const names = namesOf(statement);
      const value = names.length === 1 ? names[0] : `{ ${names.join(', ')} }`;
      return [{ start, end, to: `${set.join(' ')}${isLast ? ` return ${value};` : ''}` }];
    }
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return [{ start, end, to: `${statement.id.name} = ${source(statement)};` }];
    case 'ExportNamedDeclaration':
      return statement.declaration
        ? [{ start, end: statement.declaration.start, to: '' }, ...editsOf(statement.declaration, code, false)]
        : [{ start, end, to: '' }];
    case 'ExpressionStatement':
      return isLast ? [{ start, end, to: `return (${source(statement.expression)});` }] : [];
    default:
      return [];
  }
}
