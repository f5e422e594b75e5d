/** Sees that all lists of as many orders have as many bytes: one that is cut would be a fast one. */
export class ListLengths {
  readonly #bytesByOrders = new Map<number, number>();

  /** @throws Error where the list is not as long as the first of as many orders */
  check(orders: number, bytes: number): void {
    const expected = this.#bytesByOrders.get(orders) ?? bytes;
    this.#bytesByOrders.set(orders, expected);
    if (bytes !== expected)
      throw new Error(`lists of ${orders} orders are not equally long: ${expected}, ${bytes} bytes`);
  }
}
