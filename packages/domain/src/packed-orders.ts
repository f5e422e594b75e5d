/**
 * A batch of orders in the form in which clients take long lists: bytes that storage makes of its rows, which nobody on
 * their way looks into. A list of a million orders then costs no object on this side.
 *
 * One order after the other, integers and doubles with the most significant byte first:
 *
 * | Bytes | Hold |
 * |---|---|
 * | 1 | bits 0 and 1: 0 pending, 1 shipped, 2 cancelled; bit 2: complete; bit 3: there is a ship date |
 * | 8, 8 | id and petId, 64-bit integers |
 * | 4 | quantity, a 32-bit integer |
 * | 8 | placedAt, a double: milliseconds since 1970 |
 * | 8 each, where there is one | shipDate, then shippedAt, completedAt or cancelledAt, likewise |
 */
export class PackedOrders {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}
