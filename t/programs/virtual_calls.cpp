// expect: 42 6, 5 6 7 8 9 10 11 12 13 8, 28 21 7
// Objects that a kernel makes and shares with the threads of its regions: the
// constructor's store of the pointer to virtual functions stays.
#include <cstdio>

#pragma omp begin declare target
struct Base {
    int id;
    explicit Base(int i) : id(i) {}
    virtual int f(int a) const { return a + id; }
};
struct Derived : Base {
    explicit Derived(int i) : Base(i) {}
    int f(int a) const override { return a * id; }
};
struct Left : virtual Base {
    int l;
    explicit Left(int i) : Base(i), l(2 * i) {}
    virtual int left() const { return f(l); }
};
struct Both : Left {
    explicit Both(int i) : Base(i), Left(i) {}
    int f(int a) const override { return a + 2 * id; }
};
int call(const Base &b, int a) { return b.f(a); }
#pragma omp end declare target

int main()
{
    int made = 0, chosen = 0, o[10] = {0}, v[3] = {0};
#pragma omp target map(from: made)
    {
        Derived d(7);
        Base *b = &d;
        made = b->f(6);
    }
#pragma omp target map(from: chosen) firstprivate(made)
    {
        Derived d(made > 40 ? 1 : 2);
        Base e(3);
        const Base *b = made > 41 ? &d : &e;
        chosen = b->f(6);
    }
#pragma omp target map(tofrom: o)
    {
        Base d(5);
        o[9] = call(d, 3);
#pragma omp parallel for
        for (int i = 0; i < 9; i++)
            o[i] = call(d, i);
    }
#pragma omp target map(tofrom: v)
    {
        Both b(7);
        Base *base = &b;
        v[0] = b.left();
#pragma omp parallel for
        for (int i = 1; i < 3; i++)
            v[i] = base->f(i == 1 ? 7 : -7);
    }
    printf("%d %d,", made, chosen);
    for (int i = 0; i < 10; i++)
        printf(" %d", o[i]);
    printf(", %d %d %d\n", v[0], v[1], v[2]);
}
