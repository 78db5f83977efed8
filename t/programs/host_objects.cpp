// expect: 42 7, 60, 18 33, 35 9, 110
// Objects with virtual functions that the host has made: a kernel calls the
// device's functions, by the device's tables, also where a base class is a
// second or a virtual one, and through a pointer to a member function.
#include <cstdio>

#pragma omp begin declare target indirect
struct Base {
    int k;
    virtual int f(int x) { return x + k; }
};
struct Derived : Base {
    int f(int x) override { return x * k; }
};
struct Other {
    int o;
    virtual int g(int x) { return x - o; }
    virtual int h(int x) { return x + o; }
};
struct Both : Base, Other {
    int f(int x) override { return x + k + o; }
    int h(int x) override { return 3 * (x + o); }
};
struct Left : virtual Base {
    int l;
    int f(int x) override { return x + 10 * k + l; }
    virtual int left(int x) { return k + l * x; }
};
#pragma omp end declare target

int main()
{
    Derived d;
    Base b;
    d.k = 7, b.k = 1;
    int first = 0, second = 0;
#pragma omp target map(to: d, b) map(from: first, second)
    {
        Base *p = &d;
        first = p->f(6);
        p = &b;
        second = p->f(6);
    }
    printf("%d %d, ", first, second);

    Derived many[4];
    int sum = 0;
    for (int i = 0; i < 4; i++)
        many[i].k = i;
#pragma omp target teams distribute parallel for map(to: many) reduction(+: sum)
    for (int i = 0; i < 4; i++) {
        Base &one = many[i];
        sum += one.f(10);
    }
    printf("%d, ", sum);

    Both both;
    both.k = 5, both.o = 3;
#pragma omp target map(to: both) map(from: first, second)
    {
        Base *p = &both;
        Other *q = &both;
        first = p->f(10);
        second = q->h(8);
    }
    printf("%d %d, ", first, second);

    Left left;
    left.k = 3, left.l = 2;
#pragma omp target map(to: left) map(from: first, second)
    {
        Left *p = &left;
        Base *q = p;
        first = q->f(3);
        second = p->left(3);
    }
    printf("%d %d, ", first, second);

    int (Base::*member)(int) = &Base::f;
    Base *object = &b;
    b.k = 106;
#pragma omp target map(to: object[:1]) map(from: first) firstprivate(member)
    first = (object->*member)(4);
    printf("%d\n", first);
}
