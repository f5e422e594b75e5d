const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * @returns what PostgreSQL does not permit to its role, in one line; `undefined` if the error is not a denial
 */
export function describeDenial(error: unknown): string | undefined {
  // pg throws it; MikroORM wraps it and keeps the code.
  const isDenial = error instanceof Error && 'code' in error && error.code === INSUFFICIENT_PRIVILEGE;
  return isDenial ? `${error.message}; it takes a role like petstore_server (docs/operations.md, "Roles")` : undefined;
}
