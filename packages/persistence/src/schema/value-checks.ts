import type { FieldDefinition } from '@petstore/domain';

/** The largest value of the type `integer`. */
const INTEGER_MAX = 2_147_483_647;

/** `between`, as PostgreSQL keeps it: MikroORM compares the texts of checks. */
const isFromTo = (value: string, min: number, max: number) => `${value} >= ${min} and ${value} <= ${max}`;

/** The check of a column, if its type does not say all of its values: `quantity >= 1`. */
export function limitsOf(column: string, definition: FieldDefinition): string | undefined {
  switch (definition.kind) {
    case 'wholeNumber': {
      const { min, max } = definition;
      return max < INTEGER_MAX ? isFromTo(column, min, max) : `${column} >= ${min}`;
    }
    case 'text':
      return isFromTo(`char_length(${column})`, definition.minLength, definition.maxLength);
    case 'int64':
    case 'instant': // see timesCheck
    case 'boolean':
    case 'status': // see STATE_CHECK
      return undefined;
    default:
      return definition satisfies never;
  }
}
